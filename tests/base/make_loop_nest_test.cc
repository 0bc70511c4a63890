// Tests loop nests: merged or reordered, they must visit exactly the addresses of the views.
#include "base/make_loop_nest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/verify.h"
#include "verify/random.h"

namespace openaclnn {
namespace {

using openaclnn_test::Random;

TensorView make_view(const std::vector<int64_t>& dims, const std::vector<int64_t>& strides) {
  TensorView view;
  view.dtype = ACL_FLOAT;
  view.rank = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), view.dims);
  std::copy(strides.begin(), strides.end(), view.strides);
  return view;
}

using Offsets = std::vector<std::array<int64_t, 2>>;

// Returns the pairs of element offsets in row-major order, by counting.
Offsets offsets_of(const TensorView& a, const TensorView& b) {
  Offsets all;
  std::vector<int64_t> index(static_cast<size_t>(a.rank), 0);
  for (int64_t left = a.numel(); left > 0; --left) {
    std::array<int64_t, 2> offset = {0, 0};
    for (size_t k = 0; k < index.size(); ++k) {
      offset[0] += index[k] * a.strides[k];
      offset[1] += index[k] * b.strides[k];
    }
    all.push_back(offset);
    for (size_t k = index.size(); k-- > 0;) {
      if (++index[k] < a.dims[k]) break;
      index[k] = 0;
    }
  }
  return all;
}

Offsets offsets_of(const LoopNest<2>& nest) {
  Offsets all = {{0, 0}};
  for (int k = 0; k < nest.rank; ++k) {
    Offsets next;
    for (const auto& base : all) {
      for (int64_t i = 0; i < nest.dims[static_cast<size_t>(k)]; ++i) {
        const auto& stride = nest.strides[static_cast<size_t>(k)];
        next.push_back({base[0] + i * stride[0], base[1] + i * stride[1]});
      }
    }
    all = std::move(next);
  }
  return all;
}

TEST(MakeLoopNest, ContiguousViewsBecomeOneLoop) {
  const TensorView a = make_view({2, 3, 4}, {12, 4, 1});
  const LoopNest<2> nest = row_major_nest<2>({&a, &a}, 0, 3);
  EXPECT_EQ(nest.rank, 1);
  EXPECT_EQ(nest.inner(), 24);
  EXPECT_TRUE(nest.inner_is_contiguous());
}

TEST(MakeLoopNest, PaddedRowsKeepTheirRows) {
  const TensorView a = make_view({2, 3, 4}, {12, 4, 1});
  const TensorView padded = make_view({2, 3, 4}, {24, 8, 1});
  const LoopNest<2> nest = row_major_nest<2>({&a, &padded}, 0, 3);
  EXPECT_EQ(nest.rank, 2);  // the two outer dims merge
  EXPECT_EQ(nest.inner(), 4);
}

TEST(MakeLoopNest, TransposedLeaderIsWalkedInMemoryOrder) {
  const TensorView a = make_view({5, 7}, {1, 5});
  const LoopNest<2> nest = memory_order_nest<2>({&a, &a}, 1);
  EXPECT_EQ(nest.rank, 1);
  EXPECT_TRUE(nest.inner_is_contiguous());
}

TEST(MakeLoopNest, RankZeroAndOnesAreOneElement) {
  const TensorView scalar = make_view({}, {});
  EXPECT_EQ(row_major_nest<2>({&scalar, &scalar}, 0, 0).inner(), 1);
  const TensorView ones = make_view({1, 1, 1}, {-9, 0, INT64_MAX});
  EXPECT_EQ(memory_order_nest<2>({&ones, &ones}, 0).rank, 0);
}

TEST(MakeLoopNest, RandomViewsAreVisitedExactly) {
  SCOPED_TRACE(openaclnn_test::seed_text());
  Random random(openaclnn_test::test_seed());
  for (int round = 0; round < 3000; ++round) {
    const auto rank = static_cast<size_t>(random.below(5));
    std::vector<int64_t> dims(rank), strides_a(rank), strides_b(rank);
    for (size_t k = 0; k < rank; ++k) dims[k] = random.between(1, 4);
    // Most strides fit together, so that loops are merged.
    int64_t a = 1, b = random.between(1, 2);
    for (size_t k = rank; k-- > 0;) {
      strides_a[k] = random.chance(5) ? random.between(-20, 20) : a;
      strides_b[k] = random.chance(5) ? random.between(-20, 20) : b;
      a *= dims[k];
      b *= dims[k];
    }
    const TensorView view_a = make_view(dims, strides_a), view_b = make_view(dims, strides_b);
    const Offsets expected = offsets_of(view_a, view_b);
    ASSERT_EQ(offsets_of(row_major_nest<2>({&view_a, &view_b}, 0, view_a.rank)), expected)
        << "round " << round;
    Offsets any_order = offsets_of(memory_order_nest<2>({&view_a, &view_b}, 1));
    Offsets sorted = expected;
    std::sort(any_order.begin(), any_order.end());
    std::sort(sorted.begin(), sorted.end());
    ASSERT_EQ(any_order, sorted) << "round " << round;
  }
}

}  // namespace
}  // namespace openaclnn
