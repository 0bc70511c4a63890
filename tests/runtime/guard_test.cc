// Tests OPENACLNN_ALLOCATOR=guard: invalid accesses are found, by an error message or by a fault at the
// access itself.
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "runtime/gate.h"
#include "runtime/runtime_test.h"

namespace {

using namespace runtime_test;
const SetEnvironment guard("OPENACLNN_ALLOCATOR", "guard");

constexpr size_t kSizes[] = {1, 3, 63, 64, 65, 100, 1000, 4032, 4096, 4097, 600000, size_t{3} << 20};

struct Kind {
  const char* name;
  const char* pointer;
  int (*allocate)(void** block, size_t bytes);
  int (*free)(void* block);
};
constexpr Kind kKinds[] = {
    {"aclrtMalloc", "devPtr",
     [](void** block, size_t bytes) { return aclrtMalloc(block, bytes, ACL_MEM_MALLOC_HUGE_FIRST); },
     aclrtFree},
    {"aclrtMallocAlign32", "devPtr",
     [](void** block, size_t bytes) { return aclrtMallocAlign32(block, bytes, ACL_MEM_MALLOC_HUGE_FIRST); },
     aclrtFree},
    {"aclrtMallocHost", "hostPtr", aclrtMallocHost, aclrtFreeHost}};

class GuardTest : public RuntimeTest {
 protected:
  static void SetUpTestSuite() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  // check(kind, size, block) for every kind and size; it frees the block.
  template <class Check>
  static void for_each_block(const Check& check) {
    for (const Kind& kind : kKinds) {
      for (const size_t bytes : kSizes) {
        SCOPED_TRACE(std::string(kind.name) + ", " + std::to_string(bytes) + " bytes");
        void* block = nullptr;
        expect(0, kind.allocate(&block, bytes));
        check(kind, bytes, static_cast<unsigned char*>(block));
      }
    }
  }
  // The byte is writable, so it is in a margin, not in a guard page.
  static bool is_margin(unsigned char* byte) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const bool readable = write(ends[1], byte, 1) == 1;
    close(ends[0]), close(ends[1]);
    return readable;
  }
};

TEST_F(GuardTest, BlocksAreAlignedUsableAndNaN) {
  for_each_block([](const Kind& kind, size_t bytes, unsigned char* block) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
    EXPECT_EQ(std::vector<unsigned char>(block, block + bytes), std::vector<unsigned char>(bytes, 0xFF));
    std::memset(block, 1, bytes);
    expect(0, kind.free(block));
  });
}

TEST_F(GuardTest, OneByteBehindTheEndIsFound) {
  for_each_block([](const Kind& kind, size_t bytes, unsigned char* block) {
    if (bytes % 64 == 0) {
      EXPECT_FALSE(is_margin(block + bytes)) << "the end does not touch the guard page";
      expect(0, kind.free(block));
      return;
    }
    ASSERT_TRUE(is_margin(block + bytes));
    block[bytes] = 7;
    expect(107000, kind.free(block),
           {kind.pointer, "was freed", "past its end", "byte " + std::to_string(bytes) + " was written to",
            "the block has " + std::to_string(bytes) + " bytes"});
    expect(107000, kind.free(block), {"has not been freed"});
  });
}

TEST_F(GuardTest, OneByteBeforeTheStartIsFound) {
  int margins = 0;
  for_each_block([&](const Kind& kind, size_t bytes, unsigned char* block) {
    if (!is_margin(block - 1)) return expect(0, kind.free(block));
    ++margins;
    block[-1] = 7;
    expect(107000, kind.free(block), {"before its start", "byte -1 was written to"});
    (void)bytes;
  });
  EXPECT_GT(margins, 20);
}

TEST_F(GuardTest, ForbiddenPagesFaultAtTheAccess) {
  void* memory = nullptr;
  expect(0, aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  auto* const block = static_cast<volatile unsigned char*>(memory);
  EXPECT_DEATH((void)block[4096], "");
  EXPECT_DEATH(block[4096] = 1, "");
  EXPECT_DEATH((void)block[-1], "");
  EXPECT_DEATH(block[-1] = 1, "");
  expect(0, aclrtFree(memory));
}

TEST_F(GuardTest, UseAfterFreeFaultsAtTheAccess) {
  for (const size_t bytes : {size_t{1}, size_t{5000}, size_t{3} << 20}) {
    void* memory = nullptr;
    expect(0, aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    expect(0, aclrtFree(memory));
    auto* const block = static_cast<volatile unsigned char*>(memory);
    EXPECT_DEATH((void)block[0], "");
    EXPECT_DEATH(block[bytes - 1] = 1, "");
  }
}

TEST_F(GuardTest, DoubleAndForeignFreesAreRefused) {
  void *block = nullptr, *host = nullptr;
  expect(0, aclrtMalloc(&block, 100, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, aclrtMallocHost(&host, 100));
  expect(107000, aclrtFree(static_cast<char*>(block) + 1), {"not the start of a live block"});
  expect(107000, aclrtFree(host), {"aclrtMalloc returned"});
  expect(0, aclrtFree(block));
  expect(107000, aclrtFree(block),
         {"devPtr (0x", ") is not the start of a live block", "has not been freed"});
  expect(0, aclrtFreeHost(host));
  expect(107000, aclrtFreeHost(host), {"has not been freed"});
}

// The pool may return more bytes than requested, as the interface says; here every byte counts.
TEST_F(GuardTest, CopiesAndFillsEndAtTheLastByte) {
  void* block = nullptr;
  std::vector<char> source(101);
  expect(0, aclrtMalloc(&block, 100, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, aclrtMemcpy(block, 100, source.data(), 100, ACL_MEMCPY_HOST_TO_DEVICE));
  expect(107000, aclrtMemcpy(block, 101, source.data(), 101, ACL_MEMCPY_HOST_TO_DEVICE),
         {"100 bytes to the end"});
  expect(107000, aclrtMemset(block, 101, 0, 101), {"100 bytes to the end"});
  expect(0, aclrtFree(block));
}

TEST_F(GuardTest, BlocksFreedEarlyLiveUntilTheirTasksRan) {
  void* block = nullptr;
  std::vector<char> result(1000, 0);
  expect(0, aclrtMalloc(&block, 1000, ACL_MEM_MALLOC_HUGE_FIRST));
  Gate gate;
  expect(0, gate.enqueue(stream));
  expect(0, aclrtMemsetAsync(block, 1000, 'x', 1000, stream));
  expect(0, aclrtMemcpyAsync(result.data(), 1000, block, 1000, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  expect(0, aclrtFree(block));
  gate.open();
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(result, std::vector<char>(1000, 'x'));
}

TEST_F(GuardTest, FreedBlocksAreKeptAwayButNotForEver) {
  const auto mappings = [] {
    std::ifstream maps("/proc/self/maps");
    size_t lines = 0;
    for (std::string line; std::getline(maps, line);) ++lines;
    return lines;
  };
  void* first = nullptr;
  expect(0, aclrtMalloc(&first, 100, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, aclrtFree(first));
  const auto cycle = [&](int times) {
    bool again = false;
    for (int k = 0; k < times; ++k) {
      void* block = nullptr;
      expect(0, aclrtMalloc(&block, 100, ACL_MEM_MALLOC_HUGE_FIRST));
      again = again || block == first;
      expect(0, aclrtFree(block));
    }
    return again;
  };
  EXPECT_FALSE(cycle(3000)) << "a freed block came back at once";
  cycle(10000);
  const size_t before = mappings();
  cycle(10000);
  EXPECT_LE(mappings(), before + 100);
}

TEST_F(GuardTest, TooMuchIsRefused) {
  for (const size_t bytes : {size_t{1} << 45, size_t{1} << 62, SIZE_MAX - 4096, SIZE_MAX}) {
    void* block = nullptr;
    expect(207001, aclrtMalloc(&block, bytes, ACL_MEM_MALLOC_HUGE_FIRST), {"Failed to allocate"});
  }
}

}  // namespace
