// EmbeddingDenseBackward as data: its named cases, for tests of this room and of all rooms.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "aclnnop/aclnn_embedding_dense_backward.h"
#include "base/sort_size.h"
#include "ops/embedding_dense_backward/verify/description.h"
#include "ops/embedding_dense_backward/verify/oracle.h"
#include "verify/case.h"
#include "verify/draw.h"
#include "verify/number.h"

namespace openaclnn_verify {

inline Phase1 backward_phase1(const BackwardAttributes& a) {
  return [a](Handles t, uint64_t* workspace_bytes, aclOpExecutor** executor) {
    return aclnnEmbeddingDenseBackwardGetWorkspaceSize(
        t[kGrad], t[kIndices], static_cast<uint64_t>(a.table_rows), static_cast<uint64_t>(a.padding_row),
        a.scale, t[kOut], workspace_bytes, executor);
  };
}

inline Case backward_case(aclDataType grad_dtype, aclDataType out_dtype, aclDataType index_dtype,
                          const Shape& index_dims, int64_t columns, const BackwardAttributes& attributes,
                          Layout layout, const std::string& name) {
  const int64_t positions = count_elements(index_dims);
  Shape grad_dims = index_dims;
  grad_dims.push_back(columns);
  Case made;
  made.name = "EmbeddingDenseBackward " + name;
  made.tensors = {
      {kBackwardNames[kGrad], grad_dtype, grad_dims, Role::input, Values::symmetric, -10, 2, layout},
      {kBackwardNames[kIndices], index_dtype, index_dims, Role::input, Values::whole, 0,
       attributes.table_rows - 1, layout},
      {kBackwardNames[kOut],
       out_dtype,
       {attributes.table_rows, columns},
       Role::output,
       Values::none,
       0,
       0,
       layout},
  };
  made.phase1 = backward_phase1(attributes);
  made.phase2 = aclnnEmbeddingDenseBackward;
  made.minimal_bytes = positions * (columns * element_bytes(grad_dtype) + element_bytes(index_dtype)) +
                       attributes.table_rows * columns * element_bytes(out_dtype);
  made.judge = backward_judge(attributes);
  made.attributes.integers = {{"numWeights", attributes.table_rows},
                              {"paddingIdx", attributes.padding_row},
                              {"scaleGradByFreq", attributes.scale ? 1 : 0}};
  return made;
}

inline std::vector<Case> embedding_dense_backward_cases() {
  struct Type {
    aclDataType grad, out;
    const char* name;
  };
  std::vector<Case> cases;
  for (const Type& type : {Type{ACL_FLOAT, ACL_FLOAT, "FLOAT"},
                           {ACL_FLOAT16, ACL_FLOAT16, "FLOAT16"},
                           {ACL_BF16, ACL_BF16, "BF16"},
                           {ACL_BF16, ACL_FLOAT, "BF16 into FLOAT"},
                           {ACL_FLOAT, ACL_FLOAT16, "FLOAT into FLOAT16"}}) {
    const auto add = [&](const char* what, aclDataType index_dtype, const Shape& index_dims, int64_t columns,
                         const BackwardAttributes& attributes, Layout layout = Layout::contiguous) {
      cases.push_back(backward_case(type.grad, type.out, index_dtype, index_dims, columns, attributes, layout,
                                    std::string(type.name) + " " + what));
    };
    add("short sums", ACL_INT64, {40, 50}, 133, {.table_rows = 900, .padding_row = 7});
    add("sums of about 100 terms, scaled", ACL_INT32, {8000}, 37, {.table_rows = 80, .scale = true});
    add("one row gets all terms", ACL_INT64, {3001}, 100, {.table_rows = 1});
    add("three rows, scaled", ACL_UINT8, {5000}, 1, {.table_rows = 3, .scale = true});
    add("wide rows", ACL_INT32, {37}, 5003, {.table_rows = 11});
    add("rows in tiles", ACL_INT32, {83}, 9001, {.table_rows = 3});
    add("wide rotated views", ACL_INT64, {17, 6}, 2603, {.table_rows = 7}, Layout::mixed);
    add("padded rows", ACL_INT16, {43, 29}, 67, {.table_rows = 300}, Layout::padded);
    add("rotated views, negative strides", ACL_INT64, {31, 47}, 65, {.table_rows = 200}, Layout::mixed);
  }
  // More positions than GPUs sort by counting, so that CUB sorts them by one to three digits of the row. All
  // but the last are small enough for compute-sanitizer. The last is where tests of graphs take a case.
  const auto add_many = [&](const char* name, aclDataType dtype, aclDataType index_dtype,
                            const Shape& index_dims, int64_t columns, const BackwardAttributes& attributes,
                            Layout layout = Layout::contiguous) {
    static_assert(openaclnn::kMostSortedByCounting < 9000);
    cases.push_back(backward_case(dtype, dtype, index_dtype, index_dims, columns, attributes, layout, name));
  };
  add_many("FLOAT 9000 positions, long sums", ACL_FLOAT, ACL_INT32, {9000}, 1, {.table_rows = 5});
  add_many("BF16 9090 positions, scaled, padded rows", ACL_BF16, ACL_INT16, {90, 101}, 3,
           {.table_rows = 300, .padding_row = 11, .scale = true}, Layout::padded);
  add_many("FLOAT16 12001 positions, rotated views", ACL_FLOAT16, ACL_INT32, {12001}, 1, {.table_rows = 8000},
           Layout::mixed);
  add_many("FLOAT 90001 positions, short sums", ACL_FLOAT, ACL_INT64, {90001}, 1, {.table_rows = 70001});
  return cases;
}

// Makes a random case with at most about `elements` elements and so many positions that most rows of the
// table get a term.
inline Case embedding_dense_backward_random_case(Draw& draw, int64_t elements) {
  const aclDataType grad = draw.pick(kFloatDtypes), out = draw.pick(kFloatDtypes);
  const aclDataType index_dtype = draw.pick(kBackwardIndexDtypes);
  const Shape index_dims = draw.shape(elements);
  const int64_t positions = count_elements(index_dims);
  const int64_t columns = draw.between(1, std::max<int64_t>(1, elements / positions));
  BackwardAttributes attributes;
  attributes.table_rows =
      draw.between(1, index_dtype == ACL_BOOL ? 2 : std::clamp<int64_t>(positions, 1, 100));
  attributes.scale = draw.chance(2);
  if (attributes.table_rows > 3 && draw.chance(3)) attributes.padding_row = draw.below(attributes.table_rows);
  const Layout layout = draw.layout();
  return backward_case(grad, out, index_dtype, index_dims, columns, attributes, layout,
                       std::to_string(draw.seed()));
}

// For measuring errors: at least `elements` results per dtype, most of them short sums, some long and a few
// very long. Their values cancel, do not cancel, or differ much in size.
inline std::vector<Case> embedding_dense_backward_numerics_cases(int64_t elements) {
  struct Sums {
    const char* name;
    int64_t terms, rows, columns;
    double share;  // of the elements
  };
  const Sums sums[] = {{"short sums", 2000, 1000, 200, 1},
                       {"sums of about 65 terms", 6500, 100, 50, .01},
                       {"sums of about 513 terms", 5130, 10, 20, .001},
                       {"sums of 70000 terms", 70000, 1, 3, 1e-6}};
  std::vector<Case> cases;
  const aclDataType dtypes[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16};
  for (const aclDataType grad : dtypes) {
    for (const aclDataType out : dtypes) {
      for (const Sums& s : sums) {
        for (const bool scale : {false, true}) {
          // Half scaled, half not. Pairs of different dtypes get a tenth.
          const double wanted = static_cast<double>(elements) * s.share / (grad == out ? 2 : 20);
          const auto repeats = static_cast<int64_t>(wanted / static_cast<double>(s.rows * s.columns)) + 1;
          for (int64_t n = 0; n < std::max<int64_t>(repeats, grad == out ? 3 : 1); ++n) {
            Case made = backward_case(grad, out, ACL_INT32, {s.terms}, s.columns,
                                      {.table_rows = s.rows, .scale = scale}, Layout::contiguous,
                                      std::string(dtype_name(grad)) + " into " + dtype_name(out) + " " +
                                          s.name + (scale ? ", scaled " : " ") + std::to_string(n));
            set_sum_data(made.tensors[kGrad], n);
            cases.push_back(std::move(made));
          }
        }
      }
    }
  }
  return cases;
}

// The judge of a recorded call.
inline JudgeResults embedding_dense_backward_recorded_judge(const RecordedCall& call) {
  return backward_judge(recorded_backward_attributes(call));
}

}  // namespace openaclnn_verify
