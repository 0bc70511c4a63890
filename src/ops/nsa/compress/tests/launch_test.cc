// NsaCompress: what phase 2 refuses and what it does not need, and the modes of the process that change what is refused.
#include <gtest/gtest.h>

#include "aclnnop/aclnn_nsa_compress.h"
#include "support/expect.h"
#include "support/phase2_faults.h"
#include "support/subprocess.h"

namespace openaclnn_test {
namespace {

constexpr aclDataType kDtypes[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16};

// Windows of 8 tokens, 4 apart, in sequences of 12 and of all other tokens; 2 heads of 4 columns.
Launch compress_launch(aclDataType dtype, int64_t tokens = 32,
                       Placement placement = Placement::ends_at_guard) {
  Launch launch;
  launch.function = "aclnnNsaCompress";
  launch.phase2 = aclnnNsaCompress;
  // Array and text end their life with phase 1, as the contract allows.
  launch.phase1 = [tokens](Handles t, uint64_t* workspace_bytes, aclOpExecutor** executor) {
    const int64_t ends[] = {12, tokens};
    aclIntArray* const lengths = tokens > 12 ? aclCreateIntArray(ends, 2) : nullptr;
    char layout[] = "TND";
    const aclnnStatus status = aclnnNsaCompressGetWorkspaceSize(t[0], t[1], lengths, layout, 8, 4, 0, t[2],
                                                                workspace_bytes, executor);
    layout[0] = 'X';
    if (lengths != nullptr) aclDestroyIntArray(lengths);
    return status;
  };
  const int64_t windows = tokens > 12 ? 2 + (tokens - 12 - 8) / 4 + 1 : 0;
  launch.tensors = {input_tensor("input", dtype, {tokens, 2, 4}, placement),
                    input_tensor("weight", dtype, {8, 2}, placement),
                    output_tensor("output", dtype, {windows, 2, 4}, placement)};
  return launch;
}

TEST(NsaCompressPhase2, TheFirstOfTwoFaultsDecides) {
  for (const aclDataType dtype : kDtypes) {
    ASSERT_GT(required_workspace(compress_launch(dtype)), 0u);
    EXPECT_GT(expect_launch_faults_in_order(compress_launch(dtype)), 300);
  }
}

TEST(NsaCompressPhase2, RefusesMisalignedData) {
  for (const aclDataType dtype : kDtypes) expect_misaligned_data_refused(compress_launch(dtype));
}

// P7, P9, P10 after V12: without windows nothing is needed.
TEST(NsaCompressPhase2, NeedsOnlyWhatItAccesses) {
  for (const aclDataType dtype : kDtypes) {
    expect_only_needed_memory_matters(compress_launch(dtype));
    for (const int64_t tokens : {0, 7}) {
      const Launch no_windows = not_accessing(compress_launch(dtype, tokens), {0, 1, 2});
      EXPECT_EQ(required_workspace(no_windows), 0u);
      expect_only_needed_memory_matters(no_windows);
      EXPECT_GT(expect_launch_faults_in_order(no_windows), 5);
    }
  }
}

TEST(NsaCompressPhase2, AcceptsNeighbours) {
  for (const aclDataType dtype : kDtypes) expect_neighbours_work(compress_launch(dtype));
}

TEST(NsaCompressPhase2, TakesNewAddresses) {
  for (const aclDataType dtype : kDtypes) expect_address_updates_work(compress_launch(dtype));
}

// ---- settings of the process: each suite runs in a process of its own ----

TEST(NsaCompressSettings, StrictMemory) {
  const ProcessResult result = run_suite("NsaCompressStrictMemory", {{"OPENACLNN_CHECK", "strict"}});
  EXPECT_TRUE(ran_and_passed(result)) << result.output;
}

PROCESS_TEST(NsaCompressStrictMemory, RefusesMemoryThatTheAllocatorDoesNotKnow) {
  for (const aclDataType dtype : kDtypes) {
    expect_unknown_memory_refused(compress_launch(dtype, 32, Placement::library));
    EXPECT_TRUE(succeeded(run_launch(compress_launch(dtype, 32, Placement::library), Placement::library)));
  }
}

}  // namespace
}  // namespace openaclnn_test
