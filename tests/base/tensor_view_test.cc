// Tests extents and overlap of views, against brute force on small random views and by hand at the limits
// of 64 bits.
#include "base/tensor_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "support/verify.h"
#include "verify/random.h"

namespace openaclnn {
namespace {

using openaclnn_test::Random;

TensorView make_view(const std::vector<int64_t>& dims, const std::vector<int64_t>& strides,
                     int64_t offset = 0, void* data = nullptr) {
  TensorView view;
  view.data = data;
  view.offset = offset;
  view.dtype = ACL_INT16;
  view.rank = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), view.dims);
  std::copy(strides.begin(), strides.end(), view.strides);
  return view;
}

// Returns all element offsets, with repetitions.
std::vector<int64_t> elements(const TensorView& view) {
  std::vector<int64_t> all = {view.offset};
  for (int k = 0; k < view.rank; ++k) {
    std::vector<int64_t> next;
    for (int64_t base : all) {
      for (int64_t i = 0; i < view.dims[k]; ++i) next.push_back(base + i * view.strides[k]);
    }
    all = std::move(next);
  }
  return all;
}

TensorView random_view(Random& random) {
  const auto rank = static_cast<size_t>(random.below(5));
  std::vector<int64_t> dims(rank), strides(rank);
  int64_t stride = 1;
  for (size_t k = rank; k-- > 0;) {
    dims[k] = random.between(random.chance(12) ? 0 : 1, 4);
    strides[k] = random.chance(3) ? random.between(-12, 12) : stride;
    stride *= std::max<int64_t>(dims[k], 1);
  }
  if (random.chance(2)) {
    for (size_t k = rank; k > 1; --k) {
      const auto other = static_cast<size_t>(random.below(static_cast<int64_t>(k)));
      std::swap(dims[k - 1], dims[other]);
      std::swap(strides[k - 1], strides[other]);
    }
  }
  return make_view(dims, strides, random.between(-5, 5));
}

TEST(TensorView, ByteRangeIsThatOfTheElements) {
  SCOPED_TRACE(openaclnn_test::seed_text());
  Random random(openaclnn_test::test_seed());
  for (int round = 0; round < 5000; ++round) {
    const TensorView view = random_view(random);
    const std::vector<int64_t> all = elements(view);
    ASSERT_TRUE(check_extent("x", view).ok());
    ASSERT_EQ(view.numel(), static_cast<int64_t>(all.size()));
    ASSERT_EQ(view.is_empty(), all.empty());
    const ByteRange range = byte_range(view);
    if (all.empty()) {
      ASSERT_EQ(range.end - range.begin, 0);
    } else {
      ASSERT_EQ(range.begin, 2 * *std::min_element(all.begin(), all.end()));
      ASSERT_EQ(range.end, 2 * *std::max_element(all.begin(), all.end()) + 2);
    }
  }
}

TEST(TensorView, FactsAreThoseOfTheView) {
  SCOPED_TRACE(openaclnn_test::seed_text());
  Random random(openaclnn_test::test_seed() + 3);
  int row_major = 0, dense = 0, overlapping = 0;
  for (int round = 0; round < 5000; ++round) {
    const TensorView view = random_view(random);
    const ViewFacts facts = facts_of(view);
    ASSERT_TRUE(facts.fits);
    ASSERT_EQ(facts.is_empty, view.is_empty());
    ASSERT_EQ(facts.data_bytes, 2 * view.numel());
    ASSERT_EQ(facts.bytes.begin, byte_range(view).begin);
    ASSERT_EQ(facts.bytes.end, byte_range(view).end);
    if (facts.is_empty) continue;
    ASSERT_EQ(facts.is_dense, is_dense(view)) << "round " << round;
    ASSERT_EQ(facts.may_overlap_itself, may_overlap_itself(view)) << "round " << round;
    std::vector<int64_t> all = elements(view);
    bool ascends = true;
    for (size_t i = 1; i < all.size(); ++i) ascends = ascends && all[i] == all[i - 1] + 1;
    ASSERT_EQ(facts.is_row_major, ascends) << "round " << round;
    row_major += facts.is_row_major ? 1 : 0;
    dense += facts.is_dense ? 1 : 0;
    overlapping += facts.may_overlap_itself ? 1 : 0;
  }
  EXPECT_GT(row_major, 500);
  EXPECT_GT(dense, row_major);
  EXPECT_GT(overlapping, 500);
}

// The rule is sufficient, not exact: accepted views have distinct elements; dense views are accepted.
TEST(TensorView, SelfOverlapRule) {
  SCOPED_TRACE(openaclnn_test::seed_text());
  Random random(openaclnn_test::test_seed() + 1);
  int accepted = 0, overlapping = 0;
  for (int round = 0; round < 5000; ++round) {
    const TensorView view = random_view(random);
    const std::vector<int64_t> all = elements(view);
    const std::set<int64_t> distinct(all.begin(), all.end());
    const bool overlaps = distinct.size() < all.size();
    overlapping += overlaps ? 1 : 0;
    if (!may_overlap_itself(view)) {
      ++accepted;
      ASSERT_FALSE(overlaps) << "round " << round;
    }
    if (!view.is_empty()) {
      const ByteRange range = byte_range(view);
      const bool dense = !overlaps && range.end - range.begin == 2 * static_cast<int64_t>(all.size());
      if (is_dense(view)) {
        ASSERT_TRUE(dense) << "round " << round;
        ASSERT_FALSE(may_overlap_itself(view)) << "round " << round;
      }
    }
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(overlapping, 500);
}

// Provable overlap is never reported for views without a common element.
TEST(TensorView, ProvableOverlapIsReal) {
  SCOPED_TRACE(openaclnn_test::seed_text());
  Random random(openaclnn_test::test_seed() + 2);
  alignas(8) char memory[64] = {};
  int found = 0;
  for (int round = 0; round < 20000; ++round) {
    TensorView a = random_view(random), b = random.chance(8) ? a : random_view(random);
    a.data = memory;
    b.data = memory + 2 * random.below(8);
    const std::vector<int64_t> elements_a = elements(a), elements_b = elements(b);
    std::set<const char*> addresses;
    for (int64_t element : elements_a) addresses.insert(static_cast<const char*>(a.data) + 2 * element);
    const bool share = std::any_of(elements_b.begin(), elements_b.end(), [&](int64_t element) {
      return addresses.count(static_cast<const char*>(b.data) + 2 * element) != 0;
    });
    const bool provable = provably_overlap(a, b);
    found += provable ? 1 : 0;
    if (provable) {
      ASSERT_TRUE(share) << "round " << round;
    }
    if (share && is_dense(a) && is_dense(b)) {
      ASSERT_TRUE(provable) << "round " << round;
    }
    ASSERT_EQ(provable, provably_overlap(b, a));
  }
  EXPECT_GT(found, 500);
}

TEST(TensorView, ElementsInARangeAreFound) {
  SCOPED_TRACE(openaclnn_test::seed_text());
  Random random(openaclnn_test::test_seed() + 4);
  alignas(8) char memory[64] = {};
  const uintptr_t data = reinterpret_cast<uintptr_t>(memory);
  int found = 0, between = 0;
  for (int round = 0; round < 20000; ++round) {
    TensorView view = random_view(random);
    view.data = memory;
    const int64_t begin = random.between(-40, 80);
    const ByteRange range = {begin, begin + random.between(1, 6)}, whole = byte_range(view);
    const std::vector<int64_t> all = elements(view);
    const bool is_in = std::any_of(all.begin(), all.end(), [&](int64_t element) {
      return 2 * element < range.end && range.begin < 2 * element + 2;
    });
    const bool found_in = has_element_in(view, data + static_cast<uintptr_t>(range.begin),
                                         data + static_cast<uintptr_t>(range.end));
    TensorView once = view;  // without repetitions
    for (int k = 0; k < once.rank; ++k) {
      if (once.strides[k] == 0 && once.dims[k] > 0) once.dims[k] = 1;
    }
    if (may_overlap_itself(once)) {
      ASSERT_TRUE(found_in || !is_in) << "round " << round;
      continue;
    }
    ASSERT_EQ(found_in, is_in) << "round " << round;
    found += is_in ? 1 : 0;
    between += !is_in && whole.begin < range.begin && range.end < whole.end ? 1 : 0;
  }
  EXPECT_GT(found, 1000);
  EXPECT_GT(between, 100);
}

// The first elements of such views meet, whatever their sizes are.
TEST(TensorView, EqualPlacesOverlapAtAllSizesOfElements) {
  alignas(8) char memory[64] = {};
  TensorView small = make_view({2, 2}, {4, 2}, 0, memory), large = small;
  large.dtype = ACL_FLOAT;
  EXPECT_TRUE(has_same_places(small, large));
  EXPECT_FALSE(is_identical(small, large));
  EXPECT_TRUE(provably_overlap(small, large));
  small.offset = large.offset = 1;  // 2 bytes and 4 bytes
  EXPECT_FALSE(provably_overlap(small, large));
  small.offset = 2;
  EXPECT_TRUE(provably_overlap(small, large));
  large.dims[1] = 0;
  EXPECT_FALSE(provably_overlap(small, large));
}

TEST(TensorView, ExtentsBeyond64BitsAreErrors) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  EXPECT_TRUE(check_extent("x", make_view({kHuge, 0}, {0, 1})).ok()) << "empty views have no extent";
  EXPECT_TRUE(check_extent("x", make_view({0, kHuge, kHuge}, {0, kHuge, 1})).ok());
  EXPECT_FALSE(check_extent("x", make_view({kHuge, 2}, {2, 1})).ok()) << "count";
  EXPECT_FALSE(check_extent("x", make_view({kHuge, 1}, {0, 1})).ok()) << "bytes";
  EXPECT_TRUE(check_extent("x", make_view({kHuge - 1}, {0})).ok());
  EXPECT_FALSE(check_extent("x", make_view({2}, {INT64_MAX})).ok());
  EXPECT_FALSE(check_extent("x", make_view({2}, {INT64_MIN})).ok());
  EXPECT_FALSE(check_extent("x", make_view({1}, {1}, INT64_MAX)).ok());
  EXPECT_FALSE(check_extent("x", make_view({2, 2}, {-(kHuge / 2), kHuge / 2})).ok()) << "lowest to highest";
  EXPECT_FALSE(facts_of(make_view({2}, {INT64_MAX})).fits);
  EXPECT_FALSE(facts_of(make_view({2, -3}, {1, 1})).fits);
  const ViewFacts empty = facts_of(make_view({0, kHuge, kHuge}, {0, kHuge, 1}));
  EXPECT_TRUE(empty.fits && empty.is_empty);
  const ViewFacts none, of_default = facts_of(TensorView());
  EXPECT_TRUE(none.fits && of_default.fits);
  EXPECT_TRUE(none.is_row_major && of_default.is_row_major && none.is_dense && of_default.is_dense);
  EXPECT_FALSE(none.is_empty || of_default.is_empty);
  EXPECT_EQ(none.data_bytes, of_default.data_bytes);
  EXPECT_EQ(none.bytes.end, of_default.bytes.end);
  const Status negative = check_extent("grad", make_view({2, -3}, {1, 1}));
  EXPECT_EQ(negative.code(), 161002);
  EXPECT_NE(negative.sentence().find("grad has shape [2, -3]"), std::string::npos) << negative.sentence();
}

}  // namespace
}  // namespace openaclnn
