// Tests memory: blocks, their checks in order, and frees while queued work still uses a block.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "openaclnn/openaclnn.h"
#include "runtime/gate.h"
#include "runtime/runtime_test.h"

namespace {

using namespace runtime_test;
using MemoryTest = RuntimeTest;

void* const kUntouched = reinterpret_cast<void*>(0x1234);

TEST_F(MemoryTest, BlocksAreAlignedAndWhollyUsable) {
  for (size_t size :
       {1, 31, 32, 33, 63, 64, 65, 100, 1000, 4096, 4097, 65536, 524256, 524288, 524289, 2097152, 5000000}) {
    const size_t rounded = (size + 31) / 32 * 32;
    struct Kind {
      aclError (*allocate)(void**, size_t, aclrtMemMallocPolicy);
      size_t usable;
    };
    for (const Kind& kind : {Kind{aclrtMalloc, rounded + 32},
                             {aclrtMallocCached, rounded + 32},
                             {aclrtMallocAlign32, rounded}}) {
      void* block = nullptr;
      expect(0, kind.allocate(&block, size, ACL_MEM_MALLOC_HUGE_FIRST));
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
      // Every usable byte counts as inside the block, the next one does not.
      expect(0, aclrtMemset(block, SIZE_MAX, 0xAB, kind.usable));
      expect(107000, aclrtMemset(block, SIZE_MAX, 0, kind.usable + 1),
             {"devPtr", std::to_string(kind.usable)});
      const auto* bytes = static_cast<const unsigned char*>(block);
      EXPECT_EQ(bytes[0], 0xAB);
      EXPECT_EQ(bytes[kind.usable - 1], 0xAB);
      expect(0, aclrtFree(block));
    }
    void* host = nullptr;
    expect(0, aclrtMallocHost(&host, size));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(host) % 64, 0u);
    std::memset(host, 1, rounded + 32);
    expect(0, aclrtFreeHost(host));
  }
}

TEST_F(MemoryTest, LiveBlocksNeverOverlap) {
  struct Block {
    unsigned char* address;
    size_t size;
  };
  std::vector<Block> live;
  uint32_t state = 12345;
  for (int k = 0; k < 3000; ++k) {
    state = state * 1664525 + 1013904223;
    const size_t size = (state >> 8) % ((k % 10 == 0) ? 3000000 : 5000) + 1;
    void* address = nullptr;
    expect(0, aclrtMalloc(&address, size, ACL_MEM_MALLOC_NORMAL_ONLY));
    auto* bytes = static_cast<unsigned char*>(address);
    bytes[0] = bytes[size - 1] = static_cast<unsigned char>(k);
    live.push_back({bytes, size});
    if (live.size() > 50) {
      const size_t victim = (state >> 4) % live.size();
      // The marks survive later allocations.
      ASSERT_EQ(live[victim].address[0], live[victim].address[live[victim].size - 1]);
      expect(0, aclrtFree(live[victim].address));
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(victim));
    }
  }
  for (const Block& block : live) {
    EXPECT_EQ(block.address[0], block.address[block.size - 1]);
    expect(0, aclrtFree(block.address));
  }
}

TEST_F(MemoryTest, AllPoliciesAreAccepted) {
  for (int policy : {0, 1, 2, 3, 4, 5, 6, 7, 0x0100, 0x1000, 0x100000, 0x1101, 0x7FFFFFFF}) {
    void* block = nullptr;
    expect(0, aclrtMalloc(&block, 100, static_cast<aclrtMemMallocPolicy>(policy)));
    expect(0, aclrtFree(block));
  }
}

TEST_F(MemoryTest, SizesThatCannotBe) {
  void* block = kUntouched;
  expect(100000, aclrtMalloc(&block, 0, ACL_MEM_MALLOC_HUGE_FIRST), {"size is 0"});
  EXPECT_EQ(block, kUntouched);
  expect(100000, aclrtMalloc(nullptr, 8, ACL_MEM_MALLOC_HUGE_FIRST), {"devPtr is NULL"});
  for (size_t size :
       {SIZE_MAX, SIZE_MAX - 31, static_cast<size_t>(PTRDIFF_MAX) + 1, static_cast<size_t>(PTRDIFF_MAX),
        static_cast<size_t>(PTRDIFF_MAX) - 100, size_t{1} << 52}) {
    for (auto* allocate : {aclrtMalloc, aclrtMallocAlign32, aclrtMallocCached}) {
      block = kUntouched;
      expect(207001, allocate(&block, size, ACL_MEM_MALLOC_HUGE_FIRST),
             {"EL0004", "Failed to allocate " + std::to_string(size) + " bytes on device 0", "bytes free"});
      EXPECT_EQ(block, nullptr);
    }
    block = kUntouched;
    expect(207001, aclrtMallocHost(&block, size), {"EL0004", "Failed to allocate " + std::to_string(size)});
    EXPECT_EQ(block, nullptr);
  }
  expect(100000, aclrtMallocHost(&block, 0), {"size is 0"});
  expect(100000, aclrtMallocHost(nullptr, 8), {"hostPtr is NULL"});
}

TEST_F(MemoryTest, OnlyStartsOfLiveBlocksCanBeFreed) {
  void* block = nullptr;
  void* host = nullptr;
  int foreign = 0;
  expect(0, aclrtMalloc(&block, 256, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, aclrtMallocHost(&host, 256));
  expect(107000, aclrtFree(static_cast<char*>(block) + 64), {"devPtr", "aclrtMalloc"});
  expect(107000, aclrtFree(&foreign));
  expect(107000, aclrtFree(reinterpret_cast<void*>(~uintptr_t{0})));
  expect(107000, aclrtFree(host));
  expect(107000, aclrtFreeHost(block), {"hostPtr", "aclrtMallocHost"});
  expect(107000, aclrtFreeHost(static_cast<char*>(host) + 1));
  expect(100000, aclrtFree(nullptr));
  expect(100000, aclrtFreeHost(nullptr));
  expect(0, aclrtFree(block));
  expect(107000, aclrtFree(block));
  expect(0, aclrtFreeHost(host));
  expect(107000, aclrtFreeHost(host));
}

// Freed while tasks that use it wait: no other thread may get the block before they ran.
TEST_F(MemoryTest, FreedBlocksAreKeptForQueuedTasks) {
  for (size_t size : {size_t{1000}, size_t{600000}, size_t{3} << 20}) {
    void* block = nullptr;
    expect(0, aclrtMalloc(&block, size, ACL_MEM_MALLOC_HUGE_FIRST));
    std::vector<char> result(size, 0);
    Gate gate;
    expect(0, gate.enqueue(stream));
    expect(0, aclrtMemsetAsync(block, size, 'x', size, stream));
    expect(0, aclrtMemcpyAsync(result.data(), size, block, size, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    expect(0, aclrtFree(block));
    expect(107000, aclrtFree(block));
    std::vector<void*> others;
    for (int k = 0; k < 20; ++k) {
      void* other = nullptr;
      expect(0, aclrtMalloc(&other, size, ACL_MEM_MALLOC_HUGE_FIRST));
      EXPECT_NE(other, block);
      std::memset(other, 'y', size);
      others.push_back(other);
    }
    gate.open();
    expect(0, aclrtSynchronizeStream(stream));
    EXPECT_EQ(result, std::vector<char>(size, 'x'));
    for (void* other : others) expect(0, aclrtFree(other));
    // Now it is free: it is among the next allocations, which are as many as the freed blocks.
    bool again = false;
    for (void*& other : others) {
      expect(0, aclrtMalloc(&other, size, ACL_MEM_MALLOC_HUGE_FIRST));
      again = again || other == block;
    }
    void* last = nullptr;
    expect(0, aclrtMalloc(&last, size, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_TRUE(again || last == block);
    others.push_back(last);
    for (void* other : others) expect(0, aclrtFree(other));
  }
}

constexpr size_t kFreedBytes = size_t{128} << 20;

// Leaves addresses for an eighth of a block.
class NoMemoryForABlock {
 public:
  NoMemoryForABlock() {
    EXPECT_EQ(getrlimit(RLIMIT_AS, &before_), 0);
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t used = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const rlimit full{used + kFreedBytes / 8, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_AS, &full), 0);
  }
  ~NoMemoryForABlock() { EXPECT_EQ(setrlimit(RLIMIT_AS, &before_), 0); }

 private:
  rlimit before_ = {};
};

// Frees a block while a task runs that ends when the gate opens.
void free_behind(Gate& gate, aclrtStream stream) {
  void* block = nullptr;
  expect(0, openaclnnReleaseMemory());
  expect(0, aclrtMalloc(&block, kFreedBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, gate.enqueue(stream));
  gate.wait_until_reached();
  expect(0, aclrtFree(block));
}

// All memory is in blocks that were freed behind a task that runs: an allocation waits for it.
TEST_F(MemoryTest, AnAllocationWaitsForFreedBlocks) {
  if (kAddressSanitizer || kThreadSanitizer)
    GTEST_SKIP() << "sanitizers reserve more addresses than this test may leave";
  Gate gate;
  free_behind(gate, stream);
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    gate.open();
  });
  void* next = nullptr;
  {
    const NoMemoryForABlock limit;
    expect(0, aclrtMalloc(&next, kFreedBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  }
  opener.join();
  expect(0, aclrtSynchronizeStream(stream));
  if (next != nullptr) expect(0, aclrtFree(next));
}

// The tasks of the parent don't exist in a forked child, which therefore waits for none.
TEST_F(MemoryTest, AChildHasTheBlocksFreedBehindTasksOfItsParent) {
  if (kAddressSanitizer || kThreadSanitizer)
    GTEST_SKIP() << "sanitizers reserve more addresses than this test may leave";
  Gate gate;
  free_behind(gate, stream);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const NoMemoryForABlock limit;
    void* next = nullptr;
    _exit(aclrtMalloc(&next, kFreedBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  gate.open();
  expect(0, aclrtSynchronizeStream(stream));
}

// Freed memory counts as free while it is kept, and after its return to the system.
TEST_F(MemoryTest, FreedMemoryIsReleasedOnDemand) {
  if (kAddressSanitizer || kThreadSanitizer) GTEST_SKIP() << "sanitizers use memory of their own";
  constexpr size_t kBytes = size_t{256} << 20;
  const auto resident_bytes = [] {
    std::ifstream file("/proc/self/statm");
    size_t total = 0, resident = 0;
    file >> total >> resident;
    return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  };
  expect(0, openaclnnReleaseMemory());
  const size_t before = resident_bytes();
  void* block = nullptr;
  void* in_use = nullptr;
  expect(0, aclrtMalloc(&block, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, aclrtMalloc(&in_use, 1000, ACL_MEM_MALLOC_HUGE_FIRST));
  std::memset(in_use, 1, 1000);
  Gate gate;
  expect(0, gate.enqueue(stream));
  expect(0, aclrtMemsetAsync(block, kBytes, 'x', kBytes, stream));
  expect(0, aclrtFree(block));
  // A queued task still uses the block.
  expect(0, openaclnnReleaseMemory());
  gate.open();
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_GE(resident_bytes(), before + kBytes / 2);
  std::thread([] { expect(0, openaclnnReleaseMemory()); }).join();  // no context
  EXPECT_LE(resident_bytes(), before + kBytes / 8);
  EXPECT_EQ(static_cast<char*>(in_use)[999], 1);
  expect(0, aclrtFree(in_use));
}

TEST_F(MemoryTest, BlocksSurviveTheDevice) {
  void* block = nullptr;
  expect(0, aclrtMalloc(&block, 100, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, aclrtResetDeviceForce(0));
  stream = nullptr;
  std::memset(block, 1, 100);
  char copy[100];
  expect(0, aclrtMemcpy(copy, 100, block, 100, ACL_MEMCPY_DEVICE_TO_HOST));
  expect(0, aclrtFree(block));
}

TEST_F(MemoryTest, MemInfo) {
  for (int attr = 0; attr <= 17; ++attr) {
    size_t free = 0, total = 0;
    expect(0, aclrtGetMemInfo(static_cast<aclrtMemAttr>(attr), &free, &total));
    EXPECT_GT(total, size_t{1} << 20);
    EXPECT_LE(free, total);
    EXPECT_GT(free, 0u);
  }
  size_t value = 5;
  expect(100000, aclrtGetMemInfo(static_cast<aclrtMemAttr>(-1), &value, &value), {"attr is -1"});
  expect(100000, aclrtGetMemInfo(static_cast<aclrtMemAttr>(18), &value, &value), {"attr is 18"});
  expect(100000, aclrtGetMemInfo(ACL_HBM_MEM, nullptr, &value), {"free is NULL"});
  expect(100000, aclrtGetMemInfo(ACL_HBM_MEM, &value, nullptr), {"total is NULL"});
  EXPECT_EQ(value, 5u);
  std::thread([] {
    size_t unused = 0;
    void* block = nullptr;
    expect(107002, aclrtGetMemInfo(ACL_HBM_MEM, &unused, &unused), {"context"});
    for (auto* allocate : {aclrtMalloc, aclrtMallocAlign32, aclrtMallocCached}) {
      expect(107002, allocate(&block, 8, ACL_MEM_MALLOC_HUGE_FIRST), {"context"});
    }
    expect(0, aclrtMallocHost(&block, 8));
    expect(0, aclrtFreeHost(block));
  }).join();
}

}  // namespace
