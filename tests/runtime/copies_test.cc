// Tests copies and fills: their checks in order, memory that the caller reuses at once, and several
// threads.
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
using CopiesTest = RuntimeTest;

TEST_F(CopiesTest, CopyChecksInOrder) {
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
  // The ends of both ranges are beyond the last address.
  expect(107000,
         aclrtMemcpy(reinterpret_cast<void*>(UINTPTR_MAX - 10), 64, reinterpret_cast<void*>(UINTPTR_MAX - 20),
                     64, ACL_MEMCPY_DEFAULT),
         {"overlap"});
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

TEST_F(CopiesTest, AsyncCopyChecks) {
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

TEST_F(CopiesTest, RowCopyChecksInOrder) {
  std::vector<char> from(64, 'a'), to(64, 'b');
  const auto kind = ACL_MEMCPY_HOST_TO_DEVICE;
  expect(100000, aclrtMemcpy2d(nullptr, 0, nullptr, 0, 1, 1, ACL_MEMCPY_DEFAULT), {"dst is NULL"});
  expect(100000, aclrtMemcpy2d(to.data(), 0, nullptr, 0, 1, 1, ACL_MEMCPY_DEFAULT), {"src is NULL"});
  expect(100000, aclrtMemcpy2d(to.data(), 0, from.data(), 0, 1, 1, static_cast<aclrtMemcpyKind>(6)),
         {"kind is 6"});
  for (int other : {0, 3, 4, 5}) {
    expect(207000, aclrtMemcpy2d(to.data(), 0, from.data(), 0, 1, 1, static_cast<aclrtMemcpyKind>(other)),
           {"kind is " + std::to_string(other), "ACL_MEMCPY_DEVICE_TO_HOST"});
  }
  expect(107000, aclrtMemcpy2d(to.data(), 7, from.data(), 7, 8, 1, kind), {"width is 8 but dpitch is 7"});
  expect(107000, aclrtMemcpy2d(to.data(), 8, from.data(), 7, 8, 1, kind), {"width is 8 but spitch is 7"});
  expect(107000, aclrtMemcpy2d(to.data(), SIZE_MAX / 2, from.data(), 8, 8, 3, kind),
         {"dpitch", "height is 3", "product"});
  expect(107000, aclrtMemcpy2d(to.data(), 16, to.data() + 8, 16, 8, 2, kind),
         {"overlap", "24 bytes of dst", "24 bytes of src"});
  void* block = nullptr;
  expect(0, aclrtMallocAlign32(&block, 32, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(107000, aclrtMemcpy2d(block, 16, from.data(), 8, 8, 3, kind), {"dst has 32 bytes"});
  expect(0, aclrtMemcpy2d(block, 24, from.data(), 8, 8, 2, kind));  // the last row ends with the block
  expect(0, aclrtFree(block));
  expect(107000, aclrtMemcpy2dAsync(to.data(), 0, from.data(), 0, 0, 5242881, kind, stream),
         {"height is 5242881", "at most 5242880"});
  expect(107017, aclrtMemcpy2dAsync(to.data(), 8, from.data(), 8, 8, 2, kind, from.data()), {"stream"});
  EXPECT_EQ(to, std::vector<char>(64, 'b'));
}

TEST_F(CopiesTest, RowsAreCopiedWithoutTheirGaps) {
  for (const auto& [height, width] :
       {std::pair<size_t, size_t>{3, 5}, {1, 40}, {0, 4}, {4, 0}, {3000, 700}}) {
    for (const auto& [dpitch, spitch] : {std::pair<size_t, size_t>{width, width},
                                         {width + 3, width},
                                         {width, width + 2},
                                         {width + 1, width + 4}}) {
      std::vector<char> from(height * spitch + 8), expected(height * dpitch + 8, 'b');
      std::iota(from.begin(), from.end(), char{0});
      for (size_t row = 0; row < height; ++row)
        std::copy_n(from.data() + row * spitch, width, expected.data() + row * dpitch);
      std::vector<char> now(expected.size(), 'b'), later(expected.size(), 'b');
      expect(0, aclrtMemcpy2d(now.data(), dpitch, from.data(), spitch, width, height,
                              ACL_MEMCPY_HOST_TO_DEVICE));
      EXPECT_EQ(now, expected);
      expect(0, aclrtMemcpy2dAsync(later.data(), dpitch, from.data(), spitch, width, height,
                                   ACL_MEMCPY_DEVICE_TO_HOST, stream));
      std::fill(from.begin(), from.end(), 'z');  // ordinary host memory may be reused at once
      expect(0, aclrtSynchronizeStream(stream));
      EXPECT_EQ(later, expected);
    }
  }
}

TEST_F(CopiesTest, RowsFromDeviceMemoryAreReadInStreamOrder) {
  char* block = nullptr;
  expect(0, aclrtMalloc(reinterpret_cast<void**>(&block), 64, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, aclrtMemset(block, 64, 'x', 64));
  std::vector<char> to(6, 'b');
  Gate gate;
  expect(0, gate.enqueue(stream));
  expect(0, aclrtMemsetAsync(block, 64, 'y', 32, stream));
  expect(0, aclrtMemcpy2dAsync(to.data(), 3, block, 32, 3, 2, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  gate.open();
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(to, (std::vector<char>{'y', 'y', 'y', 'x', 'x', 'x'}));
  expect(0, aclrtFree(block));
}

TEST_F(CopiesTest, PageableSourcesMayBeReusedAtOnce) {
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

// A worker may reach a gate only after it was opened. It must then still see everything that precedes open(),
// as thread sanitizer judges it.
TEST_F(CopiesTest, GatesThatOpenedEarlierStillOrderWhatFollows) {
  std::vector<char> from(64, 'a'), to(64, 'b'), slow(4 << 20);
  Gate first, later;
  expect(0, first.enqueue(stream));
  expect(0, aclrtMemsetAsync(slow.data(), slow.size(), 1, slow.size(), stream));
  expect(0, later.enqueue(stream));
  expect(0, aclrtMemcpyAsync(to.data(), 64, from.data(), 64, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  first.open();
  EXPECT_EQ(to[0], 'b');
  later.open();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the wait's lock would also make it visible
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(to, from);
}

// A later copy in stream order must read the result of an earlier task, also in pageable memory.
TEST_F(CopiesTest, PageableSourcesThatAQueuedTaskWritesAreReadAfterIt) {
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

TEST_F(CopiesTest, DeviceAndPinnedSourcesAreReadInStreamOrder) {
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

TEST_F(CopiesTest, LargeCopiesAndFillsUseSeveralThreads) {
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

TEST_F(CopiesTest, FillChecks) {
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

// No memory has so many bytes, known to the library or not: such a count is a negative number without its
// sign.
TEST_F(CopiesTest, CountsThatNothingHasAreRefused) {
  void* block = nullptr;
  expect(0, aclrtMalloc(&block, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  std::vector<char> unknown(64, 7), other(64, 7);
  for (const size_t count : {size_t{1} << 63, (size_t{1} << 63) + 64, SIZE_MAX - 63, SIZE_MAX}) {
    const std::string sentence =
        "count is " + std::to_string(count) + "; it must be at most 9223372036854775807";
    for (void* to : {block, static_cast<void*>(unknown.data())}) {
      expect(107000, aclrtMemset(to, SIZE_MAX, 0, count), {sentence});
      expect(107000, aclrtMemsetAsync(to, SIZE_MAX, 0, count, stream), {sentence});
      for (void* from : {to, static_cast<void*>(other.data())}) {
        expect(107000, aclrtMemcpy(to, SIZE_MAX, from, count, ACL_MEMCPY_DEFAULT), {sentence});
        expect(107000, aclrtMemcpyAsync(to, SIZE_MAX, from, count, ACL_MEMCPY_DEFAULT, stream), {sentence});
      }
    }
  }
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(unknown, std::vector<char>(64, 7));
  expect(0, aclrtFree(block));
}

}  // namespace
