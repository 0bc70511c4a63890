// EmbeddingDenseBackward: phase 2 refusals of workspaces, addresses and overlaps, which write nothing.
#include <gtest/gtest.h>

#include "ops/embedding_dense_backward/tests/call_cases.h"
#include "support/phase1_mistakes.h"
#include "support/phase2_refusals.h"
#include "verify/number.h"

namespace openaclnn_test {
namespace {

Launch backward_launch(DtypePair dtypes, aclDataType index_dtype, const Shape& index_dims = {64},
                       int64_t columns = 8, Placement placement = Placement::ends_at_guard) {
  return make_launch(kBackwardPhase2,
                     backward_case(dtypes.grad, dtypes.out, index_dtype, index_dims, columns,
                                   {.table_rows = 64}, Layout::contiguous, "launch"),
                     placement);
}

Launch launch_without_rows(DtypePair dtypes) {
  Launch launch = backward_launch(dtypes, ACL_INT64);
  launch.tensors[kOut].tensor = HostTensor(dtypes.out, {0, 8});
  launch.phase1 = backward_phase1({.table_rows = 0});
  return launch;
}

std::vector<LaunchForm> launches() {
  std::vector<LaunchForm> all;
  const auto add = [&](const std::string& name, DtypePair dtypes, aclDataType index_dtype,
                       const Shape& index_dims, int64_t columns, const LaunchForm& form) {
    all.push_back(form);
    all.back().name = name;
    all.back().make = [=](Placement placement) {
      return backward_launch(dtypes, index_dtype, index_dims, columns, placement);
    };
  };
  const LaunchForm basic = {.least_pairs = 300, .needs_workspace = true};
  // An empty table requires nothing. Zeros for a table without terms require only the table.
  const LaunchForm empty = {.not_accessed = {kGrad, kIndices, kOut}, .needs_workspace = false};
  const LaunchForm zeros = {.least_pairs = 10, .not_accessed = {kGrad, kIndices}, .needs_workspace = false};
  for (const DtypePair& dtypes : dtype_pairs()) {
    const std::string name = std::string(dtype_name(dtypes.grad)) + "into" + dtype_name(dtypes.out);
    add(name, dtypes, ACL_INT64, {64}, 8, basic);
    add(name + "WithoutColumns", dtypes, ACL_INT32, {8}, 0, empty);
    add(name + "WithoutTerms", dtypes, ACL_INT32, {0}, 8, zeros);
    all.push_back(empty);
    all.back().name = name + "WithoutRows";
    all.back().make = [=](Placement) { return launch_without_rows(dtypes); };
  }
  for (const aclDataType index_dtype : kBackwardIndexDtypes)
    add(std::string("Indices") + dtype_name(index_dtype), {ACL_FLOAT, ACL_FLOAT}, index_dtype, {64}, 8,
        basic);
  return all;
}
INSTANTIATE_TEST_SUITE_P(EmbeddingBackward, Phase2Refusals, testing::ValuesIn(launches()),
                         LaunchForm::name_of);

TEST(EmbeddingBackwardPhase2, RefusesMisalignedDataOfEveryDtype) {
  for (const DtypePair& dtypes : dtype_pairs()) {
    for (const aclDataType index_dtype : kBackwardIndexDtypes)
      expect_misaligned_data_refused(backward_launch(dtypes, index_dtype));
  }
}

// Not even the same view as grad is accepted, dense or not.
TEST(EmbeddingBackwardPhase2, OutIsNotTheViewOfGrad) {
  for (const Layout layout : {Layout::contiguous, Layout::transposed, Layout::padded, Layout::strided}) {
    BackwardCall call({ACL_FLOAT, ACL_FLOAT}, ACL_INT64, {64}, 8, {.table_rows = 64}, {.grad = layout});
    Random random(test_seed());
    call.fill(random);
    for (int k = 0; k < kBackwardTensors; ++k) call[k].remember();
    BackwardCall spoiled = call;
    spoiled.replace(kOut, call[kGrad].alias());
    EXPECT_TRUE(failed_in_phase2(spoiled.run(), kBackwardPhase2, kInvalid, {"out overlaps grad"}));
    for (int k = 0; k < kBackwardTensors; ++k) EXPECT_TRUE(call[k].unchanged()) << kBackwardNames[k];
  }
}

}  // namespace
}  // namespace openaclnn_test
