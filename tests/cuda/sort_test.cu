// Tests the sort of positions by key, for words of both sizes and any number of keys.
#include "cuda/sort.cuh"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "pieces.h"

namespace openaclnn::cuda {
namespace {

// Keys of few values, so that most have equal ones, whose order must be kept.
template <class Word>
void expect_sorted(size_t count, uint64_t values, Word factor) {
  const TestArray<Word> keys(2 * (count + 4)), positions(2 * count);
  const size_t second = (count + 3) / 4 * 4;  // at a multiple of 16 bytes
  const SortBuffers<Word> buffers = {{keys.data(), keys.data() + second},
                                     {positions.data(), positions.data() + count}};
  std::mt19937_64 random(count);
  for (size_t i = 0; i < count; ++i) {
    keys[i] = static_cast<Word>(random() % values) * factor;
    positions[i] = static_cast<Word>(i);
  }
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return keys[i]; });
  std::vector<Word> sorted_keys(count);
  std::ranges::transform(order, sorted_keys.begin(), [&](size_t i) { return keys[i]; });

  const TestArray<char> scratch(static_cast<size_t>(sort_scratch_bytes(static_cast<int64_t>(count))) + 1);
  int result = 0;
  finish(sort_positions(buffers, static_cast<int64_t>(count), 8 * sizeof(Word), scratch.data(), nullptr,
                        result));
  for (size_t i = 0; i < count; ++i) {
    ASSERT_EQ(buffers.keys[result][i], sorted_keys[i]) << i << " of " << count << " keys";
    ASSERT_EQ(buffers.positions[result][i], static_cast<Word>(order[i])) << i << " of " << count << " keys";
  }
}

// Counts around whole packs of 16 bytes, around a round of eight lanes, around a block, and beyond the
// limit of sorting by counting.
std::vector<size_t> counts() {
  std::vector<size_t> all(70);
  std::iota(all.begin(), all.end(), size_t{1});
  all.insert(all.end(), {127, 128, 129, 255, 256, 257, 1000});
  if (kOnGpu) all.insert(all.end(), {8191, 8192});
  all.insert(all.end(), {8193, 20000});
  return all;
}

TEST(SortPositions, KeepsEqualKeysInOrder) {
  for (const size_t count : counts()) {
    for (const uint64_t values : {uint64_t{1}, uint64_t{3}, uint64_t{1000}}) {
      expect_sorted<uint32_t>(count, values, 1);
      expect_sorted<uint32_t>(count, values, 0x00400001);  // up to the highest bit
      expect_sorted<uint64_t>(count, values, (uint64_t{1} << 52) + 1);
    }
  }
}

}  // namespace
}  // namespace openaclnn::cuda
