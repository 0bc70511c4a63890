// NsaCompress as data: its named cases, for tests of this room and for tests of all rooms.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
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
  return made;
}

inline std::vector<Case> nsa_compress_cases() {
  struct Type {
    aclDataType dtype;
    const char* name;
  };
  std::vector<Case> cases;
  for (const Type& type : {Type{ACL_FLOAT, "FLOAT"}, {ACL_FLOAT16, "FLOAT16"}, {ACL_BF16, "BF16"}}) {
    const auto add = [&](const char* what, const Shape& input_dims, const WindowAttributes& attributes,
                         Layout layout = Layout::contiguous) {
      cases.push_back(
          compress_case(type.dtype, input_dims, attributes, layout, std::string(type.name) + " " + what));
    };
    add("overlapping windows", {400, 4, 128}, {32, 16, {96, 104, 200}, 0});
    add("one sequence, no lengths given", {500, 3, 80}, {16, 16, {}, 0, false});
    add("equal batches, no lengths given", {240, 3, 72}, WindowAttributes::without_lengths(20, 6, 3));
    add("ragged sequences, more than two windows overlap", {700, 5, 33},
        {24, 7, {0, 300, 5, 23, 24, 348}, 1});
    add("windows apart", {1500, 2, 48}, {9, 31, {700, 800}, 0});
    add("long windows", {1900, 1, 65}, {600, 333, {1800, 100}, 1});
    add("wide heads", {60, 3, 1037}, {5, 3, {60}, 0});
    add("narrow heads", {900, 131, 3}, {8, 5, {450, 450}, 0});
    add("a stride beyond all tokens", {90, 3, 33}, {9, INT64_MAX - 200, {50, 40}, 1});
    add("many windows overlap, heads in pieces", {120, 3, 1100}, {40, 3, {}, 0, false});
    add("many long windows overlap", {900, 2, 50}, {130, 9, {600, 300}, 1});
    add("many very long windows overlap", {1300, 1, 40}, {600, 50, {1300}, 0});
    add("rows in tiles", {70, 45, 200}, {16, 8, {70}, 0});
    add("padded rows", {300, 6, 50}, {12, 6, {100, 200}, 1}, Layout::padded);
    add("rotated views, negative strides", {200, 7, 40}, {10, 4, {120, 80}, 0}, Layout::mixed);
  }
  return cases;
}

// Any case, of at most about `elements` elements, with at least one window.
inline Case nsa_compress_random_case(Draw& draw, int64_t elements) {
  return random_compression(draw, elements, compress_case);
}

// For measuring errors: at least `elements` results per dtype, most of them short sums, some long ones.
inline std::vector<Case> nsa_compress_numerics_cases(int64_t elements) {
  struct Sums {
    const char* name;
    Shape input_dims;
    WindowAttributes attributes;
    double share;  // of the elements
  };
  const Sums sums[] = {{"windows of 3", {1003, 5, 60}, {3, 1, {600, 403}, 0}, 1},
                       {"windows of 65", {200, 5, 31}, {65, 7, {}, 0, false}, .003},
                       {"windows of 513", {1100, 3, 13}, {513, 100, {1100}, 1}, .0001},
                       {"windows of 20000", {20001, 1, 3}, {20000, 1, {20001}, 1}, 1e-6}};
  std::vector<Case> cases;
  for (const aclDataType dtype : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}) {
    for (const Sums& s : sums) {
      const int64_t heads = s.input_dims[1], columns = s.input_dims[2];
      const auto windows = static_cast<int64_t>(window_starts(s.attributes, s.input_dims[0]).size());
      const double wanted = static_cast<double>(elements) * s.share;
      const auto repeats = static_cast<int64_t>(wanted / static_cast<double>(windows * heads * columns)) + 1;
      for (int64_t n = 0; n < std::max<int64_t>(repeats, 3); ++n) {
        cases.push_back(
            compress_case(dtype, s.input_dims, s.attributes, Layout::contiguous,
                          std::string(dtype_name(dtype)) + " " + s.name + " " + std::to_string(n)));
        set_sum_data(cases.back().tensors[kCompressInput], n);
        set_sum_data(cases.back().tensors[kCompressWeight], n / 2);
      }
    }
  }
  return cases;
}

// The judge of a call that was recorded.
inline JudgeResults nsa_compress_recorded_judge(const RecordedCall& call) {
  return compress_judge(recorded_windows(call, "actSeqLenOptional"));
}

}  // namespace openaclnn_verify
