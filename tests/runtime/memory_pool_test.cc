// Tests the memory pool of the CPU device: the size of blocks, memory kept after frees, and its return to
// the system.
#include "cpu/memory_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cpu/arenas.h"
#include "cpu/mappings.h"
#include "cpu/slabs.h"
#include "support/verify.h"
#include "verify/random.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

namespace openaclnn::cpu {
namespace {

constexpr size_t kKiB = 1024;
constexpr size_t kMiB = 1024 * kKiB;

size_t resident_bytes() {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string line; std::getline(file, line);) {
    size_t kibibytes = 0;
    if (std::sscanf(line.c_str(), "Rss: %zu", &kibibytes) == 1) return kibibytes * kKiB;
  }
  return 0;
}

size_t growth_since(size_t before) {
  const size_t now = resident_bytes();
  return now > before ? now - before : 0;
}

struct Block {
  unsigned char* begin;
  size_t bytes;
};

Block touched_block(size_t bytes) {
  const Block block{static_cast<unsigned char*>(pool_allocate(bytes)), bytes};
  if (block.begin == nullptr) ADD_FAILURE() << "no memory for " << bytes << " bytes";
  if (block.begin != nullptr) std::memset(block.begin, 0x5A, bytes);
  return block;
}

void free_blocks(std::vector<Block>& blocks) {
  for (const Block& block : blocks) pool_free(block.begin, block.bytes);
  blocks.clear();
}

// The limit of kept memory, for a test that has made its mappings.
struct KeepAtMost {
  explicit KeepAtMost(size_t bytes) { pool_keep_at_most(bytes); }
  ~KeepAtMost() { pool_keep_at_most(0); }  // the next mapping queries the machine
};

size_t below(openaclnn_test::Random& random, size_t limit) {
  return static_cast<size_t>(random.below(static_cast<int64_t>(limit)));
}

// From one byte to 64 MiB, just below and above each border and between.
std::vector<size_t> sizes_of_all_kinds() {
  std::vector<size_t> sizes;
  for (size_t power = 1; power <= 64 * kMiB; power *= 2) {
    for (size_t size : {power - 1, power, power + 1, power + power / 3}) {
      if (size > 0 && size <= 64 * kMiB) sizes.push_back(size);
    }
  }
  return sizes;
}

TEST(MemoryPool, ABlockTakesUpAnEighthMoreAndAPageAtMost) {
  for (size_t bytes = 1; bytes <= kLargestSmall; ++bytes) {
    ASSERT_GE(small_bytes(bytes), bytes);
    ASSERT_LE(small_bytes(bytes), std::max(bytes + bytes / 8, bytes + kSmallUnit - 1)) << bytes;
    // All blocks share the rest of the slab after the last block.
    ASSERT_LE(kSlabBytes / (kSlabBytes / small_bytes(bytes)), bytes + bytes / 8 + 4096) << bytes;
  }
  for (size_t bytes : sizes_of_all_kinds()) {
    if (bytes < kHugePage) continue;
    EXPECT_GE(mapping_bytes(bytes), bytes);
    EXPECT_LE(mapping_bytes(bytes), bytes + bytes / 8 + page_bytes());
  }
}

TEST(MemoryPool, TheSystemGivesNoMoreMemoryThanThat) {
  if (kSanitized) GTEST_SKIP() << "sanitizers use memory of their own";
  std::vector<Block> blocks;
  blocks.reserve(20000);
  for (size_t bytes : sizes_of_all_kinds()) {
    pool_return_all();
    const size_t count = std::clamp<size_t>(32 * kMiB / bytes, 1, blocks.capacity());
    const size_t before = resident_bytes();
    for (size_t k = 0; k < count; ++k) blocks.push_back(touched_block(bytes));
    // The size of the pool's metadata does not depend on the size of a block.
    EXPECT_LE(growth_since(before), count * (bytes + bytes / 8 + page_bytes()) + 64 * kKiB)
        << count << " blocks of " << bytes << " bytes";
    free_blocks(blocks);
  }
}

// Blocks of 600 KiB once filled 2 MiB each.
TEST(MemoryPool, MediumBlocksLieCloseTogether) {
  if (kSanitized) GTEST_SKIP() << "sanitizers use memory of their own";
  constexpr size_t kBytes = 600 * kKiB, kCount = 300;
  pool_return_all();
  const size_t before = resident_bytes();
  std::vector<Block> blocks;
  for (size_t k = 0; k < kCount; ++k) blocks.push_back(touched_block(kBytes));
  EXPECT_LE(growth_since(before), kCount * kBytes * 9 / 8);
  free_blocks(blocks);
}

TEST(MemoryPool, FreedMemoryIsUsedAgain) {
  for (size_t bytes : {size_t{64}, 5000 * size_t{1}, 100 * kKiB, 600 * kKiB, 3 * kMiB, 40 * kMiB}) {
    const Block block = touched_block(bytes);
    pool_free(block.begin, block.bytes);
    const Block again = touched_block(bytes);
    EXPECT_EQ(again.begin, block.begin) << bytes;
    pool_free(again.begin, again.bytes);
  }
  // Adjacent free blocks serve larger blocks, and slabs without a used block serve other sizes.
  if (kSanitized) return;
  pool_return_all();
  std::vector<Block> blocks;
  blocks.reserve(600000);
  const size_t before = resident_bytes();
  for (size_t bytes : {64 * size_t{1}, 200 * size_t{1}, 3000 * size_t{1}, 20 * kKiB, 700 * kKiB}) {
    for (size_t k = 0; k < 32 * kMiB / bytes; ++k) blocks.push_back(touched_block(bytes));
    free_blocks(blocks);
  }
  EXPECT_LE(growth_since(before), 64 * kMiB);
}

TEST(MemoryPool, KeptMemoryIsBounded) {
  if (kSanitized) GTEST_SKIP() << "sanitizers use memory of their own";
  constexpr size_t kLimit = 48 * kMiB;
  pool_return_all();
  const size_t before = resident_bytes();
  openaclnn_test::Random random(openaclnn_test::test_seed());
  std::vector<Block> blocks;
  for (int round = 0; round < 6; ++round) {
    for (int k = 0; k < 60; ++k)
      blocks.push_back(touched_block(1 + below(random, k % 4 == 0 ? 5 * kMiB : 900 * kKiB)));
    const KeepAtMost limit(kLimit);
    std::shuffle(blocks.begin(), blocks.end(), std::mt19937_64(random.bits()));
    while (blocks.size() > 5) {
      pool_free(blocks.back().begin, blocks.back().bytes);
      blocks.pop_back();
      if (pool_has_excess()) pool_return_excess({});
      EXPECT_FALSE(pool_has_excess());
    }
  }
  size_t used = 0;
  for (const Block& block : blocks) used += block.bytes + block.bytes / 8 + page_bytes();
  // Small slabs, and metadata of blocks.
  constexpr size_t kRest = 4 * kMiB;
  EXPECT_LE(growth_since(before), used + kLimit + kRest);
  pool_return_all();
  EXPECT_LE(growth_since(before), used + kRest);
  free_blocks(blocks);
  pool_return_all();
  EXPECT_LE(growth_since(before), kRest);
}

// One used block holds only its own pages, at any position.
TEST(MemoryPool, FreePagesBetweenBlocksAreReturnedToo) {
  if (kSanitized) GTEST_SKIP() << "sanitizers use memory of their own";
  pool_return_all();
  const size_t before = resident_bytes();
  std::vector<Block> blocks, some;
  for (int k = 0; k < 4000; ++k) blocks.push_back(touched_block(20 * kKiB));
  for (size_t k = 0; k < blocks.size(); k += 40) some.push_back(std::exchange(blocks[k], {nullptr, 0}));
  std::erase_if(blocks, [](const Block& block) { return block.begin == nullptr; });
  free_blocks(blocks);
  EXPECT_GT(growth_since(before), 40 * kMiB);
  pool_return_all();
  EXPECT_LE(growth_since(before), some.size() * 20 * kKiB + 2 * kMiB);
  for (const Block& block : some)
    EXPECT_EQ(std::count(block.begin, block.begin + block.bytes, 0x5A), static_cast<long>(block.bytes));
  free_blocks(some);
}

TEST(MemoryPool, MemoryIsReturnedInStepsWithoutALock) {
  std::vector<Block> blocks = {touched_block(100 * kMiB)};
  pool_return_all();
  const KeepAtMost limit(kMiB);
  free_blocks(blocks);
  ASSERT_TRUE(pool_has_excess());
  int steps = 0;
  // Another thread may use the pool between two steps; under a lock it would wait forever.
  const auto use_the_pool = [](void* count) {
    ++*static_cast<int*>(count);
    std::thread([] {
      const Block block = touched_block(1000);
      pool_free(block.begin, block.bytes);
    }).join();
  };
  pool_return_excess({use_the_pool, &steps});
  EXPECT_FALSE(pool_has_excess());
  EXPECT_GE(steps, 10);
}

TEST(MemoryPool, BlocksOfManyThreadsNeverOverlap) {
  touched_block(kMiB);  // kept: the limit of the test is not replaced by that of a first mapping
  const KeepAtMost limit(8 * kMiB);
  std::vector<std::thread> threads;
  for (uint64_t number = 0; number < 4; ++number) {
    threads.emplace_back([number] {
      openaclnn_test::Random random(openaclnn_test::test_seed() + number);
      std::vector<Block> blocks;
      const auto is_whole = [](const Block& block) {
        uint64_t first = 0, last = 0;
        std::memcpy(&first, block.begin, 8);
        std::memcpy(&last, block.begin + block.bytes - 8, 8);
        return first == last;
      };
      for (int k = 0; k < (kSanitized ? 1000 : 10000); ++k) {
        const size_t bytes = 16 + below(random, k % 10 == 0 ? 5 * kMiB : k % 2 == 0 ? 300 * kKiB : 9000);
        const Block block{static_cast<unsigned char*>(pool_allocate(bytes)), bytes};
        ASSERT_NE(block.begin, nullptr);
        ASSERT_EQ(reinterpret_cast<uintptr_t>(block.begin) % 64, 0u);
        const uint64_t mark = random.bits();
        std::memcpy(block.begin, &mark, 8);
        std::memcpy(block.begin + bytes - 8, &mark, 8);
        blocks.push_back(block);
        if (blocks.size() < 40) continue;
        std::swap(blocks[below(random, blocks.size())], blocks.back());
        ASSERT_TRUE(is_whole(blocks.back()));
        pool_free(blocks.back().begin, blocks.back().bytes);
        blocks.pop_back();
        if (pool_has_excess()) pool_return_excess({});
        if (k % 500 == 0) pool_return_all();
      }
      for (const Block& block : blocks) EXPECT_TRUE(is_whole(block));
      free_blocks(blocks);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A child is forked while another thread returns memory: it can use and return all of it.
TEST(MemoryPool, AForkedChildHasTheWholePool) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a fork takes more locks than thread sanitizer's search for deadlocks can hold; fork_test "
                  "has it off";
#endif
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) {
      std::vector<Block> blocks = {touched_block(30 * kMiB), touched_block(900 * kKiB)};
      free_blocks(blocks);
      pool_return_all();
    }
  });
  for (int k = 0; k < 30; ++k) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(20);
      for (size_t bytes : {size_t{100}, 20 * kKiB, 900 * kKiB, 30 * kMiB}) {
        void* const block = pool_allocate(bytes);
        if (block == nullptr) _exit(1);
        std::memset(block, 1, bytes);
        pool_free(block, bytes);
      }
      pool_return_all();
      pool_keep_at_most(0);
      _exit(pool_has_excess() ? 2 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  done = true;
  other.join();
}

// Two threads return two parts of one arena at once, and the lower part finishes first.
TEST(ArenasTest, AnArenaIsUnmappedFromItsBeginning) {
  Arenas arenas;
  char* const mapping = map_pages(kArenaBytes, false);
  arenas.add(mapping);
  void* const lower = arenas.take(kMiB);
  void* const upper = arenas.take(kArenaBytes - kMiB);
  arenas.put_back(upper);
  const Pages returned_upper = arenas.begin_return();
  arenas.put_back(lower);
  const Pages returned_lower = arenas.begin_return();
  EXPECT_EQ(arenas.end_return(returned_lower).bytes, 0u);
  const Pages unused = arenas.end_return(returned_upper);
  EXPECT_EQ(unused.begin, mapping);
  EXPECT_EQ(unused.bytes, kArenaBytes);
  unmap_pages(unused);
}

// A forked child takes back the memory that a thread of its parent was returning.
TEST(ArenasTest, CancelledReturnsJoinTheirNeighbours) {
  Arenas arenas;
  char* const mapping = map_pages(kArenaBytes, false);
  arenas.add(mapping);
  void* const lower = arenas.take(kMiB);
  void* const upper = arenas.take(kArenaBytes - kMiB);
  arenas.put_back(upper);
  (void)arenas.begin_return();
  arenas.put_back(lower);
  arenas.cancel_returns();
  EXPECT_EQ(arenas.take(kArenaBytes), mapping);  // one range again
  arenas.put_back(mapping);
  EXPECT_EQ(arenas.end_return(arenas.begin_return()).begin, mapping);
  unmap_pages({mapping, kArenaBytes});
}

// If no worker has the time to return memory, a thread that maps more first returns the excess.
TEST(MemoryPoolTest, MappingReturnsTheExcessOfOthers) {
  const KeepAtMost limit(0);
  void* const first = pool_allocate(40 * kMiB);
  pool_keep_at_most(0);
  pool_free(first, 40 * kMiB);
  ASSERT_TRUE(pool_has_excess());
  void* const second = pool_allocate(80 * kMiB);
  EXPECT_FALSE(pool_has_excess());
  pool_free(second, 80 * kMiB);
}

// While one thread returns memory, the system has none for another one: that one waits.
TEST(MemoryPoolTest, ABlockWaitsForMemoryThatIsGoingBack) {
  if (kSanitized) GTEST_SKIP() << "sanitizers reserve more addresses than this test may leave";
  constexpr size_t kBytes = 512 * kMiB;
  void* const block = pool_allocate(kBytes);
  ASSERT_NE(block, nullptr);
  pool_keep_at_most(0);
  pool_free(block, kBytes);
  std::atomic<bool> is_returning{false};
  void* other_block = nullptr;
  std::thread other([&] {
    while (!is_returning) std::this_thread::yield();
    other_block = pool_allocate(kBytes);
  });
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlimit full{pages * page_bytes() + 16 * kMiB, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &full), 0);
  const auto let_other_try = [](void* flag) {
    if (!static_cast<std::atomic<bool>*>(flag)->exchange(true))
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  pool_return_excess({let_other_try, &is_returning});
  other.join();
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_NE(other_block, nullptr);
  if (other_block != nullptr) pool_free(other_block, kBytes);
}

}  // namespace
}  // namespace openaclnn::cpu
