// EmbeddingDenseBackward: memory. Layouts of all tensors, bytes that must not be accessed, and workspaces of
// any contents and alignment.
#include <gtest/gtest.h>

#include <cstring>

#include "ops/embedding_dense_backward/tests/call_cases.h"

namespace openaclnn_test {
namespace {

constexpr Placement kPlacements[] = {Placement::ends_at_guard, Placement::starts_at_guard};

TEST(EmbeddingBackwardLayouts, EveryLayoutOfEachTensor) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (const DtypePair& dtypes : dtype_pairs()) {
    for (const Placement placement : kPlacements) {
      for (const Layout layout : kInputLayouts) {
        for (const bool is_grad : {true, false}) {
          BackwardCall call(dtypes, ACL_INT32, {4, 35}, 37,
                            {.table_rows = 15, .padding_row = 2, .scale = true},
                            is_grad ? Layouts{.grad = layout} : Layouts{.indices = layout}, placement);
          call.fill(random);
          ASSERT_TRUE(call.run_and_compare())
              << dtypes << ", " << (is_grad ? "grad " : "indices ") << layout_name(layout);
        }
      }
      for (const Layout layout : kOutputLayouts) {
        BackwardCall call(dtypes, ACL_INT32, {4, 35}, 37, {.table_rows = 15, .padding_row = 2, .scale = true},
                          {.out = layout}, placement);
        call.fill(random);
        ASSERT_TRUE(call.run_and_compare()) << dtypes << ", out " << layout_name(layout);
      }
    }
  }
}

TEST(EmbeddingBackwardLayouts, MayDifferFromTensorToTensor) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  const Shape shapes[] = {{},      {1},        {70},          {3, 40},      {40, 3},
                          {1, 30}, {5, 1, 20}, {2, 3, 4, 5},  {3, 1, 2, 7}, {2, 1, 3, 1, 2, 1, 5},
                          {2000},  {20, 90},   {600, 1, 1, 3}};
  for (int n = 0; n < 350; ++n) {
    const std::vector<DtypePair> pairs = dtype_pairs();
    const DtypePair dtypes = pairs[static_cast<size_t>(n) % pairs.size()];
    const Shape& shape = shapes[random.below(std::size(shapes))];
    const Layouts layouts = {kInputLayouts[random.below(std::size(kInputLayouts))],
                             kInputLayouts[random.below(std::size(kInputLayouts))],
                             kOutputLayouts[random.below(std::size(kOutputLayouts))]};
    const BackwardAttributes attributes = {.table_rows = random.between(1, 60), .scale = random.chance(2)};
    BackwardCall call(dtypes, kBackwardIndexDtypes[n % 8], shape, random.between(1, 40), attributes, layouts,
                      kPlacements[random.below(2)]);
    call.fill(random);
    ASSERT_TRUE(call.run_and_compare({.workspace = kPlacements[random.below(2)]}))
        << dtypes << ", " << testing::PrintToString(shape) << ", call " << n << ": "
        << layout_name(layouts.grad) << " " << layout_name(layouts.indices) << " "
        << layout_name(layouts.out);
  }
}

// Gathered columns pass through tiles, and so do the columns of out.
TEST(EmbeddingBackwardLayouts, StridedColumnsAroundTiles) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (const DtypePair& dtypes : dtype_pairs()) {
    for (const int64_t columns : {511, 512, 513, 1025}) {
      for (const Layout layout : {Layout::strided, Layout::transposed, Layout::reversed}) {
        BackwardCall call(dtypes, ACL_INT64, {40}, columns, {.table_rows = 3},
                          {layout, Layout::contiguous, layout});
        call.fill(random);
        ASSERT_TRUE(call.run_and_compare())
            << dtypes << ", " << columns << " columns, " << layout_name(layout);
      }
    }
  }
}

// Many positions, so that several threads start in the middle of a strided view.
TEST(EmbeddingBackwardLayouts, LargeStridedViews) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (const Layout layout : {Layout::padded, Layout::mixed, Layout::reversed, Layout::transposed}) {
    BackwardCall call({ACL_FLOAT, ACL_FLOAT}, ACL_INT32, {29, 31, 37}, 9,
                      {.table_rows = 700, .padding_row = 5}, {layout, layout, layout});
    call.fill(random);
    ASSERT_TRUE(call.run_and_compare()) << layout_name(layout);
  }
}

TEST(EmbeddingBackwardLayouts, ExpandedScalarsNeedOneElement) {
  for (const DtypePair& dtypes : dtype_pairs()) {
    BackwardCall call(dtypes, ACL_INT64, {1024, 3}, 30, {.table_rows = 9},
                      {.grad = Layout::broadcast, .indices = Layout::broadcast});
    call[kGrad].set(0, 0.25);
    call[kIndices].set(0, 8);
    ASSERT_TRUE(call.run_and_compare());
    EXPECT_EQ(call[kOut].get(8 * 30 + 29), 768);
  }
}

// The bytes between the rows of a padded table belong to others and keep their values.
TEST(EmbeddingBackwardLayouts, TwoTablesMayInterleave) {
  Random random(test_seed());
  for (const DtypePair& dtypes : dtype_pairs()) {
    const HostTensor memory(dtypes.out, {2 * 40 * 11});
    std::vector<BackwardCall> calls;
    for (int k = 0; k < 2; ++k) {
      calls.emplace_back(dtypes, ACL_INT64, Shape{300}, 11, BackwardAttributes{.table_rows = 40});
      calls.back().replace(kOut,
                           HostTensor(dtypes.out, {40, 11}, View{{22, 2}, 0}, memory, memory.element(k)));
      calls.back().fill(random);
    }
    for (BackwardCall& call : calls) ASSERT_TRUE(succeeded(call.run()));
    for (BackwardCall& call : calls) ASSERT_TRUE(call.has_bits(kOut, call.expected())) << dtypes;
  }
}

TEST(EmbeddingBackwardAliasing, GradAndIndicesMayShareMemory) {
  // The same floats are the gradient and, truncated, the indices.
  BackwardCall call({ACL_FLOAT, ACL_FLOAT}, ACL_FLOAT, {60}, 1, {.table_rows = 8});
  Random random(test_seed());
  for (int64_t n = 0; n < 60; ++n) call[kIndices].set(n, random.uniform(0, 8));
  call.replace(kGrad, HostTensor(ACL_FLOAT, {60, 1}, View{{1, 1}, 0}, call[kIndices], call[kIndices].data()));
  ASSERT_TRUE(call.run_and_compare());
}

// ---- The workspace ----

// Runs phase 1, then phase 2 with the given workspace. Returns the size that phase 1 requests.
uint64_t plan_call(const BackwardCall& call, aclOpExecutor** executor) {
  use_device();
  const Descriptor grad = call[kGrad].describe(), indices = call[kIndices].describe(),
                   out = call[kOut].describe();
  aclTensor* const handles[] = {grad.get(), indices.get(), out.get()};
  uint64_t workspace_bytes = 0;
  EXPECT_EQ(backward_phase1(call.attributes())(handles, &workspace_bytes, executor), 0) << take_error_text();
  return workspace_bytes;
}

TEST(EmbeddingBackwardWorkspace, AnyAlignmentAndContentsWillDo) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (const int64_t rows : {5, 3000}) {  // one pass of the sort, and two
    BackwardCall call({ACL_FLOAT, ACL_BF16}, ACL_INT16, {1500}, 3, {.table_rows = rows});
    call.fill(random);
    const std::vector<uint64_t> wanted = call.expected();
    for (size_t shift = 0; shift <= 64; ++shift) {
      for (const int fill : {0x00, 0xFF, 0x5A, -1}) {
        aclOpExecutor* executor = nullptr;
        const size_t bytes = plan_call(call, &executor);
        ASSERT_GT(bytes, 0u);
        // The workspace starts `shift` bytes after the end of a guard page, and as many canary bytes follow
        // it.
        const GuardedBuffer memory(bytes + 2 * shift, Placement::starts_at_guard);
        std::byte* const workspace = memory.data() + shift;
        for (size_t i = 0; i < bytes; ++i) {
          workspace[i] = static_cast<std::byte>(fill >= 0 ? fill : static_cast<int>(random.below(256)));
        }
        ASSERT_EQ(aclnnEmbeddingDenseBackward(workspace, bytes, executor, nullptr), 0) << take_error_text();
        ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0) << take_error_text();
        ASSERT_TRUE(call.has_bits(kOut, wanted)) << "alignment " << shift << ", filled with " << fill;
        ASSERT_TRUE(memory.margins_intact());
        for (size_t i = 0; i < shift; ++i) {
          ASSERT_EQ(memory.data()[i], std::byte{GuardedBuffer::kCanary}) << "before the workspace";
          ASSERT_EQ(workspace[bytes + i], std::byte{GuardedBuffer::kCanary}) << "behind the workspace";
        }
      }
    }
  }
}

TEST(EmbeddingBackwardWorkspace, DependsOnShapesOnly) {
  Random random(test_seed());
  uint64_t first = 0;
  for (int n = 0; n < 5; ++n) {
    BackwardCall call({ACL_FLOAT, ACL_FLOAT}, ACL_INT64, {5000}, 3, {.table_rows = 5000});
    call[kGrad].fill({1});
    n == 0 ? call[kIndices].fill({0}) : call.fill_indices(random);
    const Outcome outcome = call.run();
    ASSERT_TRUE(succeeded(outcome));
    if (n == 0) first = outcome.workspace_bytes;
    EXPECT_EQ(outcome.workspace_bytes, first);
  }
}

// Many more rows than threads, with sizes unrelated to blocks: the size that phase 1 requests is enough.
TEST(EmbeddingBackwardWorkspace, IsEnoughForEverySize) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (const int64_t positions : {1, 8191, 8192, 8193, 16385, 100000}) {
    for (const int64_t rows : {1, 2, 2049, 50000}) {
      BackwardCall call({ACL_FLOAT16, ACL_FLOAT16}, ACL_INT32, {positions}, 1, {.table_rows = rows});
      call.fill(random);
      ASSERT_TRUE(call.run_and_compare()) << positions << " positions, " << rows << " rows";
    }
  }
}

}  // namespace
}  // namespace openaclnn_test
