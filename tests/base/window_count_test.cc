// Compares the counting of windows for any numbers of a caller, and the search for batches of equal length,
// with counting one by one. The sanitized build also runs it: no number overflows in any function that
// shares this arithmetic.
#include "base/window_count.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/equal_batches.h"
#include "support/verify.h"
#include "verify/random.h"

namespace openaclnn_test {
namespace {

using openaclnn::check_entries;
using openaclnn::count_all_windows;
using openaclnn::count_windows;
using openaclnn::ends_window;
using openaclnn::EqualBatches;
using openaclnn::find_equal_batches;
using openaclnn::SearchFor;
using openaclnn::SequenceEntries;
using openaclnn::WindowShape;
using openaclnn::WrongEntry;

using Numbers = std::vector<int64_t>;

constexpr int64_t kHostile[] = {0,
                                1,
                                2,
                                -1,
                                INT64_MIN,
                                INT64_MAX,
                                int64_t{1} << 62,
                                INT64_MIN + 1,
                                INT64_MAX - 1,
                                int64_t{1} << 31,
                                -(int64_t{1} << 32)};

int64_t windows_one_by_one(int64_t length, const WindowShape& shape) {
  int64_t windows = 0;
  for (int64_t at = 0; at + shape.block <= length; at += shape.stride) ++windows;
  return windows;
}

TEST(WindowCount, CountsWhatFits) {
  for (int64_t length = 0; length <= 20; ++length) {
    for (int64_t block = 1; block <= 9; ++block) {
      for (int64_t stride = 1; stride <= 9; ++stride) {
        const WindowShape shape = {block, stride};
        EXPECT_EQ(count_windows(length, shape), windows_one_by_one(length, shape));
        EXPECT_EQ(ends_window(length, shape),
                  windows_one_by_one(length, shape) > windows_one_by_one(length - 1, shape));
      }
    }
  }
  EXPECT_EQ(count_windows(INT64_MAX, {1, 1}), INT64_MAX);
  EXPECT_EQ(count_windows(INT64_MAX, {INT64_MAX, INT64_MAX}), 1);
}

TEST(WindowCount, FindsTheFirstWrongEntry) {
  struct Wrong {
    Numbers entries;
    bool are_ends;
    WrongEntry problem;
    size_t position;
  };
  for (const Wrong& wrong : {Wrong{{1, INT64_MIN}, true, WrongEntry::negative, 1},
                             {{1, INT64_MIN}, false, WrongEntry::negative, 1},
                             {{50, 3, -1}, true, WrongEntry::negative, 2},
                             {{50, 3}, true, WrongEntry::decreasing, 1},
                             {{4, INT64_MAX}, true, WrongEntry::beyond_tokens, 1},
                             {{4, INT64_MAX, INT64_MAX}, false, WrongEntry::beyond_tokens, 1},
                             {{4, 5, 4}, false, WrongEntry::beyond_tokens, 2},
                             {{4, 12, 12}, true, WrongEntry::none, 0}}) {
    const auto check = check_entries({wrong.entries, wrong.are_ends, 12});
    EXPECT_EQ(check.problem, wrong.problem);
    EXPECT_EQ(check.position, wrong.position);
  }
  EXPECT_EQ(check_entries({Numbers{4, 9}, true, 12}).total, 9);
  EXPECT_EQ(check_entries({Numbers{4, 9}, false, 13}).total, 13);
}

TEST(WindowCount, NoNumberOverflows) {
  for (const int64_t first : kHostile) {
    for (const int64_t second : kHostile) {
      for (const int64_t tokens : kHostile) {
        for (const int64_t block : kHostile) {
          for (const int64_t stride : kHostile) {
            for (const bool are_ends : {false, true}) {
              const Numbers entries = {first, second};
              const int64_t windows = count_all_windows({entries, are_ends, tokens}, {block, stride});
              EXPECT_GE(windows, 0);
              EXPECT_LE(windows, std::max<int64_t>(tokens, 0));
            }
          }
        }
      }
    }
  }
}

TEST(WindowCount, AddsTheWindowsOfAllSequences) {
  const WindowShape shape = {32, 16};
  EXPECT_EQ(count_all_windows({{}, true, 160}, shape), 9);
  EXPECT_EQ(count_all_windows({Numbers{80, 160}, true, 160}, shape), 8);
  EXPECT_EQ(count_all_windows({Numbers{80, 80}, false, 160}, shape), 8);
  EXPECT_EQ(count_all_windows({Numbers{31, 31}, false, 160}, shape), 0);
  EXPECT_EQ(count_all_windows({Numbers{80, 79}, true, 160}, shape), 0);
  EXPECT_EQ(count_all_windows({{}, true, -5}, shape), 0);
}

// Returns the numbers B that divide the tokens and have B * n(tokens / B) windows, by trying all.
Numbers batches_one_by_one(int64_t tokens, int64_t windows, const WindowShape& shape) {
  Numbers fitting;
  for (int64_t batches = 1; batches <= std::max<int64_t>(tokens, 1); ++batches) {
    if (tokens % batches == 0 && batches * windows_one_by_one(tokens / batches, shape) == windows)
      fitting.push_back(batches);
  }
  return fitting;
}

void expect_batches(int64_t tokens, int64_t windows, const WindowShape& shape) {
  Numbers fitting = batches_one_by_one(tokens, windows, shape);
  fitting.resize(std::max<size_t>(fitting.size(), 2));
  const EqualBatches found = find_equal_batches(tokens, windows, shape, SearchFor::two_smallest);
  const std::string call = std::to_string(tokens) + " tokens, " + std::to_string(windows) + " windows of " +
                           std::to_string(shape.block) + ", " + std::to_string(shape.stride) + " apart";
  ASSERT_EQ(found.smallest, fitting[0]) << call;
  ASSERT_EQ(found.next, fitting[1]) << call;
  ASSERT_EQ(find_equal_batches(tokens, windows, shape, SearchFor::smallest).smallest, fitting[0]) << call;
}

TEST(EqualBatches, AreThoseThatCountingFinds) {
  for (int64_t tokens = 0; tokens <= 60; ++tokens) {
    for (int64_t windows = 0; windows <= 61; ++windows) {
      for (const WindowShape& shape :
           {WindowShape{1, 1}, {1, 2}, {1, 7}, {2, 1}, {3, 2}, {4, 4}, {5, 9}, {6, 4}, {8, 2}, {61, 5}}) {
        expect_batches(tokens, windows, shape);
      }
    }
  }
}

TEST(EqualBatches, AreThoseThatCountingFindsForRandomSizes) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (int repeat = 0; repeat < 3000; ++repeat) {
    const WindowShape shape = {random.between(1, 40), random.between(1, 40)};
    const int64_t batches = random.between(1, 12), length = random.between(1, 200);
    expect_batches(batches * length, batches * windows_one_by_one(length, shape), shape);
  }
}

TEST(EqualBatches, OfTheReferencePagesSizes) {
  const auto found = [](int64_t tokens, int64_t windows) {
    return find_equal_batches(tokens, windows, {32, 16}, SearchFor::two_smallest);
  };
  EXPECT_EQ(found(160, 9).smallest, 1);
  EXPECT_EQ(found(160, 9).next, 0);
  EXPECT_EQ(found(160, 8).smallest, 2);
  EXPECT_EQ(found(160, 7).smallest, 0);
}

// Shapes with other dims of 0 or strides of 0 may have any number of tokens.
TEST(EqualBatches, AreFoundUpToTheirLimit) {
  constexpr int64_t kMersenne = (int64_t{1} << 61) - 1;
  constexpr int64_t kMost = openaclnn::kMostEqualBatches;
  const auto both = [](int64_t tokens, int64_t windows, const WindowShape& shape) {
    const EqualBatches found = find_equal_batches(tokens, windows, shape, SearchFor::two_smallest);
    return std::pair(found.smallest, found.next);
  };
  EXPECT_EQ(both(5 * kMost, kMost, {5, 1}), std::pair(kMost, int64_t{0}));
  EXPECT_EQ(both(5 * (kMost + 1), kMost + 1, {5, 1}), std::pair(int64_t{0}, int64_t{0}));
  EXPECT_EQ(both(kMersenne, kMersenne, {1, 1}), std::pair(int64_t{1}, int64_t{0}));
  EXPECT_EQ(both(INT64_MAX, INT64_MAX, {1, 1}), std::pair(int64_t{1}, int64_t{7}));
  EXPECT_EQ(both(INT64_MAX, 0, {1, 1}), std::pair(int64_t{0}, int64_t{0}));
  EXPECT_EQ(both(INT64_MAX, 0, {INT64_MAX, 1}), std::pair(int64_t{7}, int64_t{49}));
  EXPECT_EQ(both(int64_t{1} << 62, int64_t{1} << 61, {2, 2}), std::pair(int64_t{1}, int64_t{2}));
  EXPECT_EQ(both(int64_t{1} << 62, (int64_t{1} << 58) - 8, {32, 16}), std::pair(int64_t{8}, int64_t{0}));
  EXPECT_EQ(both(0, INT64_MAX, {1, 1}), std::pair(int64_t{0}, int64_t{0}));
  EXPECT_EQ(both(0, 0, {1, 1}).first, 1);
}

TEST(EqualBatches, AnyNumbersAreSearched) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (int repeat = 0; repeat < 200; ++repeat) {
    const WindowShape shape = {random.between(1, INT64_MAX - 1) >> random.below(63),
                               random.between(1, INT64_MAX - 1) >> random.below(63)};
    if (shape.block < 1 || shape.stride < 1) continue;
    const int64_t tokens = random.between(0, INT64_MAX - 1) >> random.below(63);
    const int64_t windows = random.chance(3) ? tokens : random.between(0, INT64_MAX - 1) >> random.below(63);
    const EqualBatches found = find_equal_batches(tokens, windows, shape, SearchFor::two_smallest);
    for (const int64_t batches : {found.smallest, found.next}) {
      if (batches == 0) continue;
      EXPECT_EQ(tokens % batches, 0);
      EXPECT_EQ(windows % batches, 0);
      EXPECT_EQ(count_windows(tokens / batches, shape), windows / batches);
    }
  }
}

}  // namespace
}  // namespace openaclnn_test
