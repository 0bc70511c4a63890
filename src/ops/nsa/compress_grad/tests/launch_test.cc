// NsaCompressGrad: what phase 2 refuses and what it does not need, and the modes of the process that change what is refused.
#include <gtest/gtest.h>

#include <algorithm>

#include "aclnnop/aclnn_nsa_compress_grad.h"
#include "support/expect.h"
#include "support/phase2_faults.h"
#include "support/subprocess.h"

namespace openaclnn_test {
namespace {

constexpr aclDataType kDtypes[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16};

struct Sizes {
  int64_t tokens = 32;
  int64_t heads = 2;
  int64_t columns = 4;
};

// Windows of 8 tokens, 4 apart, in sequences of 12 and of all other tokens.
Launch grad_launch(aclDataType dtype, const Sizes& sizes = {},
                   Placement placement = Placement::ends_at_guard) {
  Launch launch;
  launch.function = "aclnnNsaCompressGrad";
  launch.phase2 = aclnnNsaCompressGrad;
  // Array and text end their life with phase 1, as the contract allows.
  launch.phase1 = [tokens = sizes.tokens](Handles t, uint64_t* workspace_bytes, aclOpExecutor** executor) {
    const int64_t ends[] = {12, tokens};
    aclIntArray* const lengths = tokens > 12 ? aclCreateIntArray(ends, 2) : nullptr;
    char layout[] = "TND";
    const aclnnStatus status = aclnnNsaCompressGradGetWorkspaceSize(
        t[0], t[1], t[2], lengths, 8, 4, 0, layout, t[3], t[4], workspace_bytes, executor);
    layout[0] = 'X';
    if (lengths != nullptr) aclDestroyIntArray(lengths);
    return status;
  };
  const auto& [tokens, heads, columns] = sizes;
  const int64_t windows = tokens > 12 ? 2 + (tokens - 12 - 8) / 4 + 1 : 0;
  launch.tensors = {input_tensor("outputGrad", dtype, {windows, heads, columns}, placement),
                    input_tensor("input", dtype, {tokens, heads, columns}, placement),
                    input_tensor("weight", dtype, {8, heads}, placement),
                    output_tensor("inputGradOut", dtype, {tokens, heads, columns}, placement),
                    output_tensor("weightGradOut", dtype, {8, heads}, placement)};
  return launch;
}

TEST(NsaCompressGradPhase2, TheFirstOfTwoFaultsDecides) {
  for (const aclDataType dtype : kDtypes) {
    ASSERT_GT(required_workspace(grad_launch(dtype)), 0u);
    EXPECT_GT(expect_launch_faults_in_order(grad_launch(dtype)), 1000);
  }
}

TEST(NsaCompressGradPhase2, RefusesMisalignedData) {
  for (const aclDataType dtype : kDtypes) expect_misaligned_data_refused(grad_launch(dtype));
}

bool only_zeros(const HostTensor& tensor) {
  const std::vector<std::byte> bytes = tensor.all_bytes();
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

// P7, P9, P10 after V12: with nothing to sum only the outputs that have elements are needed, and become zeros.
TEST(NsaCompressGradPhase2, NeedsOnlyWhatItAccesses) {
  struct Zeros {
    Sizes sizes;
    std::vector<size_t> not_accessed;
  };
  const Zeros all[] = {{{.tokens = 7}, {0, 1, 2}},
                       {{.tokens = 0}, {0, 1, 2, 3}},
                       {{.columns = 0}, {0, 1, 2, 3}},
                       {{.heads = 0}, {0, 1, 2, 3, 4}},
                       {{.tokens = 0, .heads = 0, .columns = 0}, {0, 1, 2, 3, 4}}};
  for (const aclDataType dtype : kDtypes) {
    expect_only_needed_memory_matters(grad_launch(dtype));
    for (const Zeros& zeros : all) {
      const Launch launch = not_accessing(grad_launch(dtype, zeros.sizes), zeros.not_accessed);
      EXPECT_EQ(required_workspace(launch), 0u);
      expect_only_needed_memory_matters(launch);
      EXPECT_GT(expect_launch_faults_in_order(launch), 5);
      for (const LaunchTensor& t : launch.tensors) {
        EXPECT_TRUE(t.role == Role::input || only_zeros(t.tensor)) << t.name;
      }
    }
  }
}

TEST(NsaCompressGradPhase2, AcceptsNeighbours) {
  for (const aclDataType dtype : kDtypes) expect_neighbours_work(grad_launch(dtype));
}

TEST(NsaCompressGradPhase2, TakesNewAddresses) {
  for (const aclDataType dtype : kDtypes) expect_address_updates_work(grad_launch(dtype));
}

// ---- settings of the process: each suite runs in a process of its own ----

TEST(NsaCompressGradSettings, StrictMemory) {
  const ProcessResult result = run_suite("NsaCompressGradStrictMemory", {{"OPENACLNN_CHECK", "strict"}});
  EXPECT_TRUE(ran_and_passed(result)) << result.output;
}

PROCESS_TEST(NsaCompressGradStrictMemory, RefusesMemoryThatTheAllocatorDoesNotKnow) {
  for (const aclDataType dtype : kDtypes) {
    expect_unknown_memory_refused(grad_launch(dtype, {}, Placement::library));
    EXPECT_TRUE(succeeded(run_launch(grad_launch(dtype, {}, Placement::library), Placement::library)));
  }
}

}  // namespace
}  // namespace openaclnn_test
