// Memory: blocks, copies, fills, their checks in order, and frees while queued work still uses a block.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

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
      // The marks survive what was allocated since.
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

TEST_F(MemoryTest, CopyChecksInOrder) {
  std::vector<char> from(64, 'a'), to(64, 'b');
  const auto bad_kind = static_cast<aclrtMemcpyKind>(6);
  expect(100000, aclrtMemcpy(nullptr, 1, nullptr, 64, bad_kind), {"dst is NULL"});
  expect(100000, aclrtMemcpy(to.data(), 1, nullptr, 64, bad_kind), {"src is NULL"});
  expect(100000, aclrtMemcpy(to.data(), 1, from.data(), 64, bad_kind), {"kind is 6"});
  expect(100000, aclrtMemcpy(to.data(), 64, from.data(), 64, static_cast<aclrtMemcpyKind>(-1)),
         {"kind is -1"});
  expect(107000, aclrtMemcpy(to.data(), 63, from.data(), 64, ACL_MEMCPY_DEFAULT),
         {"count is 64 but destMax is 63"});
  expect(107000, aclrtMemcpy(to.data(), 0, from.data(), 1, ACL_MEMCPY_DEFAULT));
  expect(0, aclrtMemcpy(to.data(), 0, from.data(), 0, ACL_MEMCPY_DEFAULT));
  expect(0, aclrtMemcpy(to.data(), 64, to.data(), 64, ACL_MEMCPY_DEFAULT));
  expect(107000, aclrtMemcpy(to.data() + 1, 63, to.data(), 63, ACL_MEMCPY_DEFAULT), {"overlap"});
  expect(107000, aclrtMemcpy(to.data(), 64, to.data() + 31, 32, ACL_MEMCPY_DEFAULT), {"overlap"});
  EXPECT_EQ(to, std::vector<char>(64, 'b'));
  expect(0, aclrtMemcpy(to.data(), 32, to.data() + 32, 32, ACL_MEMCPY_DEFAULT));
  for (int kind = 0; kind <= 5; ++kind) {
    std::fill(to.begin(), to.end(), 'b');
    expect(0, aclrtMemcpy(to.data(), 64, from.data(), 64, static_cast<aclrtMemcpyKind>(kind)));
    EXPECT_EQ(to, from);
  }
  void* block = nullptr;
  expect(0, aclrtMallocAlign32(&block, 32, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(107000, aclrtMemcpy(block, 64, from.data(), 64, ACL_MEMCPY_HOST_TO_DEVICE), {"dst has 32 bytes"});
  expect(107000, aclrtMemcpy(to.data(), 64, block, 33, ACL_MEMCPY_DEVICE_TO_HOST), {"src has 32 bytes"});
  expect(0, aclrtFree(block));
  std::thread([&] {
    expect(0, aclrtMemcpy(to.data(), 64, from.data(), 64, ACL_MEMCPY_DEFAULT));
  }).join();  // no context
}

TEST_F(MemoryTest, AsyncCopyChecks) {
  std::vector<char> from(64, 'a'), to(64, 'b');
  expect(100000, aclrtMemcpyAsync(nullptr, 64, from.data(), 64, ACL_MEMCPY_DEFAULT, stream), {"dst"});
  expect(100000, aclrtMemcpyAsync(to.data(), 64, nullptr, 64, ACL_MEMCPY_DEFAULT, stream), {"src"});
  expect(100000, aclrtMemcpyAsync(to.data(), 64, from.data(), 64, static_cast<aclrtMemcpyKind>(7), stream),
         {"kind is 7"});
  expect(107000, aclrtMemcpyAsync(to.data(), 63, from.data(), 64, ACL_MEMCPY_HOST_TO_HOST, stream),
         {"destMax"});
  expect(107000, aclrtMemcpyAsync(to.data(), 64, to.data() + 1, 10, ACL_MEMCPY_HOST_TO_HOST, stream),
         {"overlap"});
  expect(207000, aclrtMemcpyAsync(to.data(), 64, from.data(), 64, ACL_MEMCPY_HOST_TO_HOST, stream),
         {"HOST_TO_HOST"});
  expect(107017, aclrtMemcpyAsync(to.data(), 64, from.data(), 64, ACL_MEMCPY_DEFAULT, from.data()),
         {"stream"});
  expect(107017, aclrtMemsetAsync(to.data(), 64, 0, 64, from.data()), {"stream"});
  std::thread([&] {
    expect(107002, aclrtMemcpyAsync(to.data(), 64, from.data(), 64, ACL_MEMCPY_DEFAULT, stream), {"context"});
    expect(107002, aclrtMemsetAsync(to.data(), 64, 0, 64, stream), {"context"});
    expect(107002, aclrtMemset(to.data(), 64, 0, 64), {"context"});
  }).join();
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(to, std::vector<char>(64, 'b'));
  for (int kind = 1; kind <= 5; ++kind) {
    std::fill(to.begin(), to.end(), 'b');
    expect(0, aclrtMemcpyAsync(to.data(), 64, from.data(), 64, static_cast<aclrtMemcpyKind>(kind), nullptr));
    expect(0, aclrtSynchronizeStream(nullptr));
    EXPECT_EQ(to, from);
  }
  expect(0, aclrtMemcpyAsync(to.data(), 0, from.data(), 0, ACL_MEMCPY_DEFAULT, stream));
  expect(0, aclrtMemcpyAsync(to.data(), 64, to.data(), 64, ACL_MEMCPY_DEFAULT, stream));
  expect(0, aclrtSynchronizeStream(stream));
}

TEST_F(MemoryTest, PageableSourcesMayBeReusedAtOnce) {
  constexpr size_t kBytes = 100000;
  std::vector<char> from(kBytes, 'a'), to(kBytes, 'b');
  Gate gate;
  expect(0, gate.enqueue(stream));
  expect(0, aclrtMemcpyAsync(to.data(), kBytes, from.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  std::fill(from.begin(), from.end(), 'z');
  from = {};
  EXPECT_EQ(to[0], 'b');
  gate.open();
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(to, std::vector<char>(kBytes, 'a'));
}

// What an earlier task has still to write is what a later copy in stream order must read, in pageable memory too.
TEST_F(MemoryTest, PageableSourcesThatAQueuedTaskWritesAreReadAfterIt) {
  constexpr size_t kBytes = 64 << 20;
  void* from = nullptr;
  void* to = nullptr;
  expect(0, aclrtMalloc(&from, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, aclrtMalloc(&to, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, aclrtMemset(from, kBytes, 7, kBytes));
  expect(0, aclrtMemset(to, kBytes, 0, kBytes));
  std::vector<char> pageable(kBytes, 1);
  Gate gate;
  expect(0, gate.enqueue(stream));
  expect(0, aclrtMemcpyAsync(pageable.data(), kBytes, from, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  std::thread opener([&] {  // the next call may wait
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    gate.open();
  });
  expect(0, aclrtMemcpyAsync(to, kBytes, pageable.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  opener.join();
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(std::count(static_cast<char*>(to), static_cast<char*>(to) + kBytes, 7), std::ptrdiff_t{kBytes});
  expect(0, aclrtFree(from));
  expect(0, aclrtFree(to));
}

TEST_F(MemoryTest, DeviceAndPinnedSourcesAreReadInStreamOrder) {
  void* pinned = nullptr;
  void* device = nullptr;
  expect(0, aclrtMallocHost(&pinned, 64));
  expect(0, aclrtMalloc(&device, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  for (void* source : {pinned, device}) {
    std::vector<char> to(64, 'b');
    std::memset(source, 'a', 64);
    Gate gate;
    expect(0, gate.enqueue(stream));
    expect(0, aclrtMemsetAsync(source, 64, 'q', 64, stream));
    expect(0, aclrtMemcpyAsync(to.data(), 64, source, 64, ACL_MEMCPY_DEFAULT, stream));
    gate.open();
    expect(0, aclrtSynchronizeStream(stream));
    EXPECT_EQ(to, std::vector<char>(64, 'q'));
  }
  expect(0, aclrtFreeHost(pinned));
  expect(0, aclrtFree(device));
}

TEST_F(MemoryTest, LargeCopiesAndFillsUseSeveralThreads) {
  constexpr size_t kBytes = (size_t{24} << 20) + 12345;
  std::vector<unsigned char> from(kBytes), to(kBytes);
  for (size_t k = 0; k < kBytes; ++k) from[k] = static_cast<unsigned char>(k * 2654435761u >> 13);
  expect(0, aclrtMemcpy(to.data(), kBytes, from.data(), kBytes, ACL_MEMCPY_DEFAULT));
  EXPECT_TRUE(to == from);
  expect(0, aclrtMemset(to.data(), kBytes, 0x1FF, kBytes - 1));
  EXPECT_EQ(std::accumulate(to.begin(), to.end() - 1, size_t{0}), size_t{255} * (kBytes - 1));
  EXPECT_EQ(to.back(), from.back());
  expect(0, aclrtMemcpyAsync(to.data(), kBytes, from.data(), kBytes, ACL_MEMCPY_DEFAULT, stream));
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_TRUE(to == from);
}

TEST_F(MemoryTest, FillChecks) {
  std::vector<unsigned char> bytes(64, 7);
  expect(100000, aclrtMemset(nullptr, 64, 0, 64), {"devPtr"});
  expect(100000, aclrtMemsetAsync(nullptr, 64, 0, 64, stream), {"devPtr"});
  expect(107000, aclrtMemset(bytes.data(), 63, 0, 64), {"maxCount is 63"});
  expect(107000, aclrtMemsetAsync(bytes.data(), 63, 0, 64, stream), {"maxCount is 63"});
  expect(0, aclrtMemset(bytes.data(), 0, 1, 0));
  expect(0, aclrtMemsetAsync(bytes.data(), 0, 1, 0, stream));
  EXPECT_EQ(bytes, std::vector<unsigned char>(64, 7));
  expect(0, aclrtMemset(bytes.data(), 64, -2, 64));
  EXPECT_EQ(bytes, std::vector<unsigned char>(64, 0xFE));
  expect(0, aclrtMemsetAsync(bytes.data(), 64, 0x12345, 64, stream));
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(bytes, std::vector<unsigned char>(64, 0x45));
}

// Freed while tasks that use it wait: nobody else may get the block before they ran.
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
    // Now it is free indeed: among as many blocks as were freed, it comes back.
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
