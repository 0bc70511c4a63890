// NsaCompressGrad as data: its named cases, for tests of this room and of all rooms.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aclnnop/aclnn_nsa_compress_grad.h"
#include "ops/nsa/compress_grad/verify/oracle.h"
#include "verify/case.h"
#include "verify/draw.h"

namespace openaclnn_verify {

inline Phase1 compress_grad_phase1(const WindowAttributes& a) {
  return [a](Handles t, uint64_t* workspace_bytes, aclOpExecutor** executor) {
    const LengthArray lengths(a);
    char layout[] = "TND";
    return aclnnNsaCompressGradGetWorkspaceSize(t[kCgOutputGrad], t[kCgInput], t[kCgWeight], lengths.get(),
                                                a.block_size, a.stride, a.length_type, layout,
                                                t[kCgInputGrad], t[kCgWeightGrad], workspace_bytes, executor);
  };
}

inline Case compress_grad_case(aclDataType dtype, const Shape& input_dims, const WindowAttributes& attributes,
                               Layout layout, const std::string& name) {
  const int64_t heads = input_dims[1], columns = input_dims[2];
  const auto windows = static_cast<int64_t>(window_starts(attributes, input_dims[0]).size());
  const Shape compressed_dims = {windows, heads, columns};
  const Shape weight_dims = {attributes.block_size, heads};
  Case made;
  made.name = "NsaCompressGrad " + name;
  const auto add = [&](CompressGradTensor which, const Shape& dims, Role role, Values values, int64_t low,
                       int64_t high) {
    made.tensors.push_back({kCompressGradNames[which], dtype, dims, role, values, low, high, layout});
  };
  add(kCgOutputGrad, compressed_dims, Role::input, Values::symmetric, -8, 1);
  add(kCgInput, input_dims, Role::input, Values::symmetric, -8, 1);
  add(kCgWeight, weight_dims, Role::input, Values::symmetric, -4, 0);
  add(kCgInputGrad, input_dims, Role::output, Values::none, 0, 0);
  add(kCgWeightGrad, weight_dims, Role::output, Values::none, 0, 0);
  made.phase1 = compress_grad_phase1(attributes);
  made.phase2 = aclnnNsaCompressGrad;
  made.minimal_bytes = 2 * count_elements(input_dims) + count_elements(compressed_dims);
  made.minimal_bytes = (made.minimal_bytes + 2 * count_elements(weight_dims)) * element_bytes(dtype);
  made.judge = compress_grad_judge(attributes);
  made.attributes = recorded_windows_of(attributes, "actSeqLenOptionalOptional");
  return made;
}

inline std::vector<Case> nsa_compress_grad_cases() {
  return windows_cases(
      compress_grad_case,
      {{"ragged sequences, many windows overlap", {700, 5, 33}, {24, 3, {0, 300, 5, 23, 24, 348}, 1}},
       {"windows apart", {1500, 2, 48}, {20, 31, {700, 800}, 0}},
       {"a stride beyond all tokens", {90, 3, 33}, {40, INT64_MAX - 200, {50, 40}, 1}},
       {"three and four windows overlap", {300, 3, 160}, {50, 14, {200, 100}, 1}},
       {"tokens behind the last sequence", {620, 4, 70}, {16, 8, {300, 300}, 0}}});
}

// Makes a random case with at most about `elements` elements and at least one window.
inline Case nsa_compress_grad_random_case(Draw& draw, int64_t elements) {
  return random_compression(draw, elements, compress_grad_case);
}

// For measuring errors: at least `elements` results of each output per dtype. The gradient of the weights has
// L N elements, so L is almost as large as the sequence. Few windows then make short sums, and other shapes
// make long ones.
inline std::vector<Case> nsa_compress_grad_numerics_cases(int64_t elements) {
  const WindowsSums sums[] = {{"blocks as long as the sequence", {3200, 100, 1}, {3000, 100, {3200}, 0}, 1},
                              {"32 windows over each token", {400, 3, 50}, {64, 2, {150, 250}, 1}, 1e-4},
                              {"weight sums of 64000 terms", {2010, 1, 640}, {29, 20, {}, 0, false}, 1e-6}};
  const auto results = [](const WindowsSums& s) { return s.attributes.block_size * s.input_dims[1]; };
  const auto make = [](aclDataType dtype, const WindowsSums& s, const std::string& name) {
    return compress_grad_case(dtype, s.input_dims, s.attributes, Layout::contiguous, name);
  };
  return sum_cases(sums, elements, results, make, {kCgOutputGrad, kCgInput, kCgWeight});
}

// The judge of a recorded call.
inline JudgeResults nsa_compress_grad_recorded_judge(const RecordedCall& call) {
  return compress_grad_judge(recorded_windows(call, "actSeqLenOptionalOptional"));
}

}  // namespace openaclnn_verify
