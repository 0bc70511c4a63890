// EmbeddingDenseBackward: what phase 2 refuses: workspaces, addresses and overlaps. Nothing is written then.
#include <gtest/gtest.h>

#include "ops/embedding_dense_backward/tests/call_cases.h"
#include "support/phase1_faults.h"
#include "support/phase2_faults.h"

namespace openaclnn_test {
namespace {

Launch backward_launch(DtypePair dtypes = {ACL_FLOAT, ACL_FLOAT}, aclDataType index_dtype = ACL_INT64,
                       const Shape& index_dims = {64}, int64_t columns = 8, int64_t table_rows = 64) {
  return make_launch(kBackwardPhase2,
                     backward_case(dtypes.grad, dtypes.out, index_dtype, index_dims, columns,
                                   {.table_rows = table_rows}, Layout::contiguous, "launch"));
}

TEST(EmbeddingBackwardPhase2, TheFirstOfTwoFaultsDecides) {
  ASSERT_GT(required_workspace(backward_launch()), 0u);
  for (const DtypePair& dtypes : dtype_pairs())
    EXPECT_GT(expect_launch_faults_in_order(backward_launch(dtypes)), 300);
  for (const aclDataType index_dtype : kIndexDtypes)
    EXPECT_GT(expect_launch_faults_in_order(backward_launch({ACL_FLOAT, ACL_FLOAT}, index_dtype)), 300);
}

TEST(EmbeddingBackwardPhase2, RefusesMisalignedData) {
  for (const DtypePair& dtypes : dtype_pairs()) {
    for (const aclDataType index_dtype : kIndexDtypes)
      expect_misaligned_data_refused(backward_launch(dtypes, index_dtype));
  }
}

// P7, P9, P10: an empty table needs nothing, zeros for a table without terms need only the table.
TEST(EmbeddingBackwardPhase2, NeedsOnlyWhatItAccesses) {
  for (const DtypePair& dtypes : dtype_pairs()) {
    expect_only_needed_memory_matters(backward_launch(dtypes));
    Launch no_rows = backward_launch(dtypes);
    no_rows.tensors[kOut].tensor = HostTensor(dtypes.out, {0, 8});
    no_rows.phase1 = backward_phase1({.table_rows = 0});
    const Launch no_columns = backward_launch(dtypes, ACL_INT32, {8}, 0, 8);
    for (const Launch& empty : {no_rows, no_columns}) {
      EXPECT_EQ(required_workspace(empty), 0u);
      expect_only_needed_memory_matters(not_accessing(empty, {kGrad, kIndices, kOut}));
    }
    const Launch no_terms = not_accessing(backward_launch(dtypes, ACL_INT32, {0}), {kGrad, kIndices});
    EXPECT_EQ(required_workspace(no_terms), 0u);
    expect_only_needed_memory_matters(no_terms);
    EXPECT_GT(expect_launch_faults_in_order(no_terms), 10);
  }
}

TEST(EmbeddingBackwardPhase2, AcceptsNeighbours) {
  for (const DtypePair& dtypes : dtype_pairs()) expect_neighbours_work(backward_launch(dtypes));
}

TEST(EmbeddingBackwardPhase2, TakesNewAddresses) { expect_address_updates_work(backward_launch()); }

// P11: not even the identical view of grad, dense or not.
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
