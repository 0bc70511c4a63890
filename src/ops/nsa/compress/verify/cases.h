// NsaCompress as data: its named cases, for tests of this room and of all rooms.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aclnnop/aclnn_nsa_compress.h"
#include "ops/nsa/compress/verify/oracle.h"
#include "verify/case.h"
#include "verify/draw.h"

namespace openaclnn_verify {

inline Phase1 compress_phase1(const WindowAttributes& a) {
  return [a](Handles t, uint64_t* workspace_bytes, aclOpExecutor** executor) {
    const LengthArray lengths(a);
    char layout[] = "TND";
    return aclnnNsaCompressGetWorkspaceSize(t[kCompressInput], t[kCompressWeight], lengths.get(), layout,
                                            a.block_size, a.stride, a.length_type, t[kCompressOutput],
                                            workspace_bytes, executor);
  };
}

inline Case compress_case(aclDataType dtype, const Shape& input_dims, const WindowAttributes& attributes,
                          Layout layout, const std::string& name) {
  const int64_t heads = input_dims[1], columns = input_dims[2];
  const auto windows = static_cast<int64_t>(window_starts(attributes, input_dims[0]).size());
  const Shape output_dims = {windows, heads, columns};
  Case made;
  made.name = "NsaCompress " + name;
  made.tensors = {
      {kCompressNames[kCompressInput], dtype, input_dims, Role::input, Values::symmetric, -8, 2, layout},
      {kCompressNames[kCompressWeight],
       dtype,
       {attributes.block_size, heads},
       Role::input,
       Values::symmetric,
       -4,
       0,
       layout},
      {kCompressNames[kCompressOutput], dtype, output_dims, Role::output, Values::none, 0, 0, layout},
  };
  made.phase1 = compress_phase1(attributes);
  made.phase2 = aclnnNsaCompress;
  made.minimal_bytes =
      (count_elements(input_dims) + attributes.block_size * heads + count_elements(output_dims)) *
      element_bytes(dtype);
  made.judge = compress_judge(attributes);
  made.attributes = recorded_windows_of(attributes, "actSeqLenOptional");
  return made;
}

inline std::vector<Case> nsa_compress_cases() {
  std::vector<Case> cases = windows_cases(
      compress_case, {{"ragged sequences, more than two windows overlap",
                       {700, 5, 33},
                       {24, 7, {0, 300, 5, 23, 24, 348}, 1}},
                      {"windows apart", {1500, 2, 48}, {9, 31, {700, 800}, 0}},
                      {"a stride beyond all tokens", {90, 3, 33}, {9, INT64_MAX - 200, {50, 40}, 1}},
                      {"many long windows overlap", {900, 2, 50}, {130, 9, {600, 300}, 1}},
                      {"many very long windows overlap", {1300, 1, 40}, {600, 50, {1300}, 0}},
                      {"rows in tiles", {70, 45, 200}, {16, 8, {70}, 0}}});
  for (const aclDataType dtype : kUnderflowDtypes) {
    for (const int64_t stride : {1, 2}) {
      const std::string name =
          std::string(dtype_name(dtype)) + " products underflow, stride " + std::to_string(stride);
      cases.push_back(with_underflow(
          compress_case(dtype, {90, 3, 40}, {2, stride, {}, 0, false}, Layout::contiguous, name)));
    }
  }
  return cases;
}

// Makes a random case with at most about `elements` elements and at least one window.
inline Case nsa_compress_random_case(Draw& draw, int64_t elements) {
  return random_compression(draw, elements, compress_case);
}

// For measuring errors: at least `elements` results per dtype, most of them short sums, some long.
inline std::vector<Case> nsa_compress_numerics_cases(int64_t elements) {
  const WindowsSums sums[] = {{"windows of 3", {1003, 5, 60}, {3, 1, {600, 403}, 0}, 1},
                              {"windows of 65", {200, 5, 31}, {65, 7, {}, 0, false}, .003},
                              {"windows of 513", {1100, 3, 13}, {513, 100, {1100}, 1}, .0001},
                              {"windows of 20000", {20001, 1, 3}, {20000, 1, {20001}, 1}, 1e-6}};
  const auto results = [](const WindowsSums& s) {
    const auto windows = static_cast<int64_t>(window_starts(s.attributes, s.input_dims[0]).size());
    return windows * s.input_dims[1] * s.input_dims[2];
  };
  const auto make = [](aclDataType dtype, const WindowsSums& s, const std::string& name) {
    return compress_case(dtype, s.input_dims, s.attributes, Layout::contiguous, name);
  };
  return sum_cases(sums, elements, results, make, {kCompressInput, kCompressWeight});
}

// The judge of a recorded call.
inline JudgeResults nsa_compress_recorded_judge(const RecordedCall& call) {
  return compress_judge(recorded_windows(call, "actSeqLenOptional"));
}

}  // namespace openaclnn_verify
