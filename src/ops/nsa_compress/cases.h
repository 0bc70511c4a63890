// NsaCompress as data: its named cases, for tests of this room and for tests of all rooms.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aclnnop/aclnn_nsa_compress.h"
#include "ops/nsa_compress/oracle.h"
#include "support/case.h"

namespace openaclnn_test {

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
    add("ragged sequences, more than two windows overlap", {700, 5, 33},
        {24, 7, {0, 300, 5, 23, 24, 348}, 1});
    add("windows apart", {1500, 2, 48}, {9, 31, {700, 800}, 0});
    add("long windows", {1900, 1, 65}, {600, 333, {1800, 100}, 1});
    add("wide heads", {60, 3, 1037}, {5, 3, {60}, 0});
    add("narrow heads", {900, 131, 3}, {8, 5, {450, 450}, 0});
    add("padded rows", {300, 6, 50}, {12, 6, {100, 200}, 1}, Layout::padded);
    add("rotated views, negative strides", {200, 7, 40}, {10, 4, {120, 80}, 0}, Layout::mixed);
  }
  return cases;
}

}  // namespace openaclnn_test
