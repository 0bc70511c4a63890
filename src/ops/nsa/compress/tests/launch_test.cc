// NsaCompress: the calls for the suite of support/phase2_refusals.h.
#include <gtest/gtest.h>

#include "aclnnop/aclnn_nsa_compress.h"
#include "support/phase2_refusals.h"
#include "verify/number.h"

namespace openaclnn_test {
namespace {

// Windows of 8 tokens at distance 4, in sequences of 12 tokens and of all others; 2 heads of 4 columns.
Launch compress_launch(aclDataType dtype, int64_t tokens, Placement placement) {
  Launch launch;
  launch.function = "aclnnNsaCompress";
  launch.phase2 = aclnnNsaCompress;
  // Array and text are destroyed after phase 1, as the contract allows.
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

std::vector<LaunchForm> launches() {
  std::vector<LaunchForm> all;
  for (const aclDataType dtype : kFloatDtypes) {
    const auto with_tokens = [dtype](int64_t tokens) {
      return [=](Placement placement) { return compress_launch(dtype, tokens, placement); };
    };
    const std::string name = dtype_name(dtype);
    all.push_back({.name = name, .make = with_tokens(32), .least_pairs = 300, .needs_workspace = true});
    // Without windows nothing is required.
    for (const int64_t tokens : {0, 7}) {
      all.push_back({.name = name + "of" + std::to_string(tokens) + "tokens",
                     .make = with_tokens(tokens),
                     .not_accessed = {0, 1, 2},
                     .needs_workspace = false});
    }
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(NsaCompress, Phase2Refusals, testing::ValuesIn(launches()), LaunchForm::name_of);

}  // namespace
}  // namespace openaclnn_test
