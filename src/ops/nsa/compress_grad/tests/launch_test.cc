// NsaCompressGrad: the calls for the suite of support/phase2_refusals.h, and zeros if there is nothing to
// sum.
#include <gtest/gtest.h>

#include <algorithm>

#include "aclnnop/aclnn_nsa_compress_grad.h"
#include "support/expect.h"
#include "support/phase2_refusals.h"
#include "verify/number.h"

namespace openaclnn_test {
namespace {

struct Sizes {
  int64_t tokens = 32;
  int64_t heads = 2;
  int64_t columns = 4;
};

// Windows of 8 tokens at distance 4, in sequences of 12 tokens and of all others.
Launch grad_launch(aclDataType dtype, const Sizes& sizes, Placement placement) {
  Launch launch;
  launch.function = "aclnnNsaCompressGrad";
  launch.phase2 = aclnnNsaCompressGrad;
  // Array and text are destroyed after phase 1, as the contract allows.
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

// If there is nothing to sum, only non-empty outputs are required; they become zeros.
struct Zeros {
  const char* name;
  Sizes sizes;
  std::vector<size_t> not_accessed;
};
const Zeros kZeros[] = {{"withoutWindows", {.tokens = 7}, {0, 1, 2}},
                        {"withoutTokens", {.tokens = 0}, {0, 1, 2, 3}},
                        {"withoutColumns", {.columns = 0}, {0, 1, 2, 3}},
                        {"withoutHeads", {.heads = 0}, {0, 1, 2, 3, 4}},
                        {"ofNothing", {.tokens = 0, .heads = 0, .columns = 0}, {0, 1, 2, 3, 4}}};

std::vector<LaunchForm> launches() {
  std::vector<LaunchForm> all;
  for (const aclDataType dtype : kFloatDtypes) {
    const auto of = [dtype](const Sizes& sizes) {
      return [=](Placement placement) { return grad_launch(dtype, sizes, placement); };
    };
    const std::string name = dtype_name(dtype);
    all.push_back({.name = name, .make = of({}), .least_pairs = 1000, .needs_workspace = true});
    for (const Zeros& zeros : kZeros) {
      all.push_back({.name = name + zeros.name,
                     .make = of(zeros.sizes),
                     .not_accessed = zeros.not_accessed,
                     .needs_workspace = false});
    }
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(NsaCompressGrad, Phase2Refusals, testing::ValuesIn(launches()), LaunchForm::name_of);

bool only_zeros(const HostTensor& tensor) {
  const std::vector<std::byte> bytes = tensor.all_bytes();
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

TEST(NsaCompressGradPhase2, WritesZerosWhereThereIsNothingToSum) {
  for (const aclDataType dtype : kFloatDtypes) {
    for (const Zeros& zeros : kZeros) {
      const Launch launch = grad_launch(dtype, zeros.sizes, Placement::ends_at_guard);
      EXPECT_TRUE(succeeded(run_launch(launch)));
      for (const LaunchTensor& t : launch.tensors) {
        EXPECT_TRUE(t.role == Role::input || only_zeros(t.tensor)) << t.name;
      }
    }
  }
}

}  // namespace
}  // namespace openaclnn_test
