// NsaCompressGrad as data: its named cases, for tests of this room and for tests of all rooms.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
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
  return made;
}

inline std::vector<Case> nsa_compress_grad_cases() {
  struct Type {
    aclDataType dtype;
    const char* name;
  };
  std::vector<Case> cases;
  for (const Type& type : {Type{ACL_FLOAT, "FLOAT"}, {ACL_FLOAT16, "FLOAT16"}, {ACL_BF16, "BF16"}}) {
    const auto add = [&](const char* what, const Shape& input_dims, const WindowAttributes& attributes,
                         Layout layout = Layout::contiguous) {
      cases.push_back(compress_grad_case(type.dtype, input_dims, attributes, layout,
                                         std::string(type.name) + " " + what));
    };
    add("overlapping windows", {400, 4, 128}, {32, 16, {96, 104, 200}, 0});
    add("one sequence, no lengths given", {500, 3, 80}, {16, 16, {}, 0, false});
    add("equal batches, no lengths given", {240, 3, 72}, WindowAttributes::without_lengths(20, 6, 3));
    add("ragged sequences, many windows overlap", {700, 5, 33}, {24, 3, {0, 300, 5, 23, 24, 348}, 1});
    add("windows apart", {1500, 2, 48}, {20, 31, {700, 800}, 0});
    add("long windows", {1900, 1, 65}, {600, 333, {1800, 100}, 1});
    add("wide heads", {60, 3, 1037}, {5, 3, {60}, 0});
    add("narrow heads", {900, 131, 3}, {8, 5, {450, 450}, 0});
    add("a stride beyond all tokens", {90, 3, 33}, {40, INT64_MAX - 200, {50, 40}, 1});
    add("many windows overlap, heads in pieces", {120, 3, 1100}, {40, 3, {}, 0, false});
    add("three and four windows overlap", {300, 3, 160}, {50, 14, {200, 100}, 1});
    add("tokens behind the last sequence", {620, 4, 70}, {16, 8, {300, 300}, 0});
    add("padded rows", {300, 6, 50}, {12, 6, {100, 200}, 1}, Layout::padded);
    add("rotated views, negative strides", {200, 7, 40}, {10, 4, {120, 80}, 0}, Layout::mixed);
  }
  return cases;
}

// Any case, of at most about `elements` elements, with at least one window.
inline Case nsa_compress_grad_random_case(Draw& draw, int64_t elements) {
  return random_compression(draw, elements, compress_grad_case);
}

// For measuring errors: at least `elements` results of each output per dtype. The gradient of the weights has L N elements, so L
// is nearly as large as the sequence; few windows then make short sums, and other shapes make long ones.
inline std::vector<Case> nsa_compress_grad_numerics_cases(int64_t elements) {
  struct Sums {
    const char* name;
    Shape input_dims;
    WindowAttributes attributes;
    double share;  // of the elements
  };
  const Sums sums[] = {{"blocks as long as the sequence", {3200, 100, 1}, {3000, 100, {3200}, 0}, 1},
                       {"32 windows over each token", {400, 3, 50}, {64, 2, {150, 250}, 1}, 1e-4},
                       {"weight sums of 64000 terms", {2010, 1, 640}, {29, 20, {}, 0, false}, 1e-6}};
  std::vector<Case> cases;
  for (const aclDataType dtype : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}) {
    for (const Sums& s : sums) {
      const double wanted = static_cast<double>(elements) * s.share;
      const auto results = static_cast<double>(s.attributes.block_size * s.input_dims[1]);
      const auto repeats = static_cast<int64_t>(wanted / results) + 1;
      for (int64_t n = 0; n < std::max<int64_t>(repeats, 3); ++n) {
        cases.push_back(
            compress_grad_case(dtype, s.input_dims, s.attributes, Layout::contiguous,
                               std::string(dtype_name(dtype)) + " " + s.name + " " + std::to_string(n)));
        set_sum_data(cases.back().tensors[kCgOutputGrad], n);
        set_sum_data(cases.back().tensors[kCgInput], n / 2);
        set_sum_data(cases.back().tensors[kCgWeight], n / 3);
      }
    }
  }
  return cases;
}

// The judge of a call that was recorded.
inline JudgeResults nsa_compress_grad_recorded_judge(const RecordedCall& call) {
  return compress_grad_judge(recorded_windows(call, "actSeqLenOptionalOptional"));
}

}  // namespace openaclnn_verify
