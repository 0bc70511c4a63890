// Compares binary search with linear search.
#include "base/search.h"

#include <gtest/gtest.h>

namespace {

using openaclnn::first_where;
using openaclnn::last_where;

TEST(Search, FindsTheFirstNumber) {
  for (int64_t low = -3; low < 3; ++low) {
    for (int64_t high = low; high < low + 9; ++high) {
      for (int64_t first = low; first <= high; ++first)
        EXPECT_EQ(first_where(low, high, [&](int64_t k) { return k >= first; }), first);
    }
  }
}

TEST(Search, FindsTheLastNumber) {
  for (int64_t low = -3; low < 3; ++low) {
    for (int64_t high = low + 1; high < low + 9; ++high) {
      for (int64_t last = low; last < high; ++last)
        EXPECT_EQ(last_where(low, high, [&](int64_t k) { return k <= last; }), last);
    }
  }
}

TEST(Search, LooksAtNumbersInsideOnly) {
  const auto inside = [](int64_t low, int64_t high, bool answer) {
    return [=](int64_t k) {
      EXPECT_GE(k, low);
      EXPECT_LT(k, high);
      return answer;
    };
  };
  EXPECT_EQ(first_where(5, 5, inside(5, 5, true)), 5);
  EXPECT_EQ(first_where(5, 9, inside(5, 9, false)), 9);
  EXPECT_EQ(first_where(0, INT64_MAX, inside(0, INT64_MAX, false)), INT64_MAX);
  EXPECT_EQ(last_where(5, 6, inside(6, 6, false)), 5);  // the lowest number isn't queried
  EXPECT_EQ(last_where(0, INT64_MAX, inside(1, INT64_MAX, true)), INT64_MAX - 1);
}

}  // namespace
