// Tests Ring: a FIFO that keeps its order while it grows and wraps, and destroys the elements that are
// taken out.
#include "base/ring.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>

namespace openaclnn {
namespace {

TEST(Ring, BehavesLikeADeque) {
  Ring<std::shared_ptr<int>> ring;
  std::deque<int> expected;
  unsigned random = 1;
  for (int k = 0; k < 20000; ++k) {
    random = random * 1664525u + 1013904223u;
    const unsigned choice = (random >> 16) % 8;
    if (choice < 4 || (choice < 5 && k < 10000)) {  // tends to grow, later to shrink
      ring.push_back(std::make_shared<int>(k));
      expected.push_back(k);
    } else if (!expected.empty() && choice < 7) {
      ring.pop_front();
      expected.pop_front();
    } else if (!expected.empty()) {
      ring.pop_back();
      expected.pop_back();
    }
    ASSERT_EQ(ring.size(), expected.size());
    ASSERT_EQ(ring.empty(), expected.empty());
    if (expected.empty()) continue;
    ASSERT_EQ(*ring.front(), expected.front());
    ASSERT_EQ(*ring.back(), expected.back());
    ASSERT_EQ(*ring[expected.size() / 2], expected[expected.size() / 2]);
  }
}

TEST(Ring, DestroysWhatIsTakenOut) {
  const auto value = std::make_shared<int>(1);
  {
    Ring<std::shared_ptr<int>> ring;
    for (int k = 0; k < 10; ++k) ring.push_back(std::shared_ptr<int>(value));
    EXPECT_EQ(value.use_count(), 11);
    ring.pop_front();
    ring.pop_back();
    EXPECT_EQ(value.use_count(), 9);
    ring.clear();
    EXPECT_EQ(value.use_count(), 1);
    ring.push_back(std::shared_ptr<int>(value));
  }
  EXPECT_EQ(value.use_count(), 1);
}

}  // namespace
}  // namespace openaclnn
