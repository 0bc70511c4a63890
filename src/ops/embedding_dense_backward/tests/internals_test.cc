// EmbeddingDenseBackward: sums and the sort with 64-bit words. The C API needs a table or a list of 2^32 rows
// for them.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "cpu/scratch.h"
#include "ops/embedding_dense_backward/op.h"
#include "ops/registry.h"
#include "support/argument.h"
#include "support/verify.h"
#include "verify/random.h"

namespace openaclnn {
namespace {

using openaclnn_test::argument;
using openaclnn_test::Random;

struct Data {
  std::vector<float> grad;
  std::vector<int64_t> indices;
};

std::vector<float> run(const EmbeddingBackwardPlan& plan, uint64_t workspace_bytes, Data data) {
  std::vector<float> out(static_cast<size_t>(plan.table_rows * plan.columns), -1);
  std::vector<std::byte> workspace(workspace_bytes, std::byte{0xA5});
  const std::array<void*, kMaxParameters> addresses = {data.grad.data(), data.indices.data(), out.data()};
  const auto scratch = std::make_unique_for_overwrite<cpu::Scratch>();
  const cpu::ScopedScratch scope(*scratch);
  const Fault fault =
      embedding_dense_backward_kernel()(&plan, TaskIo{addresses, workspace.data(), CheckMode::report});
  EXPECT_EQ(fault.count, 1);
  EXPECT_EQ(fault.position, plan.positions / 2);
  return out;
}

TEST(EmbeddingBackwardSort, WideWordsGiveTheSameBits) {
  Random random(openaclnn_test::test_seed());
  struct Size {
    int64_t rows, positions, columns;
  };
  for (const Size& size :
       {Size{5, 1000, 5}, {3000, 40000, 5}, {(1 << 22) + 5, 1000, 3}, {5, 1000, 1}, {3000, 40000, 4}}) {
    const auto& [rows, positions, columns] = size;
    const Argument grad = argument("grad", ACL_FLOAT, {positions, columns});
    const Argument indices = argument("indices", ACL_INT64, {positions});
    const Argument out = argument("out", ACL_FLOAT, {rows, columns});
    const EmbeddingBackwardArgs args = {grad, indices, out, static_cast<uint64_t>(rows), 2, true};
    ASSERT_TRUE(check(args, PlanContext()).ok());
    const Result<Call> call = plan(args, PlanContext());
    ASSERT_TRUE(call.ok());
    Data data;
    for (int64_t i = 0; i < positions * columns; ++i) {
      data.grad.push_back(static_cast<float>(random.signed_magnitude(-12, 3)));
    }
    for (int64_t n = 0; n < positions; ++n) data.indices.push_back(random.below(rows));
    data.indices[static_cast<size_t>(positions / 2)] = rows;

    const auto& narrow = *static_cast<const EmbeddingBackwardPlan*>(call->plan.get());
    ASSERT_FALSE(narrow.scratch.wide);
    ASSERT_EQ(narrow.scratch.direct, columns <= kMostDirectColumns && rows <= 3000);
    EmbeddingBackwardPlan wide = narrow;
    wide.scratch.wide = true;
    for (int64_t* part :
         {&wide.scratch.keys, &wide.scratch.entries[0], &wide.scratch.entries[1], &wide.scratch.histograms,
          &wide.scratch.hot_rows, &wide.scratch.superblock_sums, &wide.scratch.terms, &wide.scratch.sums}) {
      *part *= 2;  // no part more than doubles
    }
    ASSERT_EQ(run(wide, 2 * call->workspace_bytes, data), run(narrow, call->workspace_bytes, data))
        << rows << " rows, " << positions << " positions";
  }
}

// Only the plan: nothing of that size is allocated.
TEST(EmbeddingBackwardSort, WordsWidenBeforeTheirLastValueIsNeeded) {
  constexpr int64_t kMark = UINT32_MAX;  // for skipped positions
  for (const int64_t rows : {kMark - 1, kMark, kMark + 1, int64_t{1} << 40}) {
    const Argument grad = argument("grad", ACL_FLOAT, {7, 1});
    const Argument indices = argument("indices", ACL_INT64, {7});
    const Argument out = argument("out", ACL_BF16, {rows, 1});
    const Result<Call> call = plan({grad, indices, out, static_cast<uint64_t>(rows), 2, true}, PlanContext());
    ASSERT_TRUE(call.ok());
    const auto& made = *static_cast<const EmbeddingBackwardPlan*>(call->plan.get());
    EXPECT_EQ(made.scratch.wide, rows >= kMark);
    // Every bit of the largest row takes part in the sort.
    const int bits = made.scratch.passes * made.scratch.digit_bits;
    EXPECT_GE(int64_t{1} << bits, rows);
    EXPECT_LE(made.scratch.digit_bits, 11);
  }
}

}  // namespace
}  // namespace openaclnn
