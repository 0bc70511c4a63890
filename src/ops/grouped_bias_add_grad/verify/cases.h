// GroupedBiasAddGrad as data: its named cases, for tests of this room and of all rooms.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "aclnnop/aclnn_grouped_bias_add_grad.h"
#include "ops/grouped_bias_add_grad/verify/oracle.h"
#include "verify/case.h"
#include "verify/draw.h"
#include "verify/random.h"

namespace openaclnn_verify {

inline Phase1 bias_phase1(const BiasAttributes& a) {
  return [a](Handles t, uint64_t* workspace_bytes, aclOpExecutor** executor) {
    return aclnnGroupedBiasAddGradV2GetWorkspaceSize(t[kBiasGradY], a.grouped ? t[kBiasGroups] : nullptr,
                                                     a.index_type, t[bias_out(a)], workspace_bytes, executor);
  };
}

// Returns groupIdx for groups of these sizes.
inline std::vector<int64_t> bias_entries(const BiasAttributes& a, std::vector<int64_t> sizes) {
  if (a.index_type == 0) std::partial_sum(sizes.begin(), sizes.end(), sizes.begin());
  return sizes;
}

struct BiasShape {
  std::vector<int64_t> sizes;  // of the groups
  int64_t columns;
  int64_t rows_left = 0;  // after the last group
};

inline Case bias_case(aclDataType dtype, aclDataType index_dtype, const BiasAttributes& attributes,
                      const BiasShape& shape, Layout layout, const std::string& name) {
  const int64_t groups = static_cast<int64_t>(shape.sizes.size());
  const int64_t rows = std::accumulate(shape.sizes.begin(), shape.sizes.end(), shape.rows_left);
  Case made;
  made.name = "GroupedBiasAddGrad " + name;
  const Shape grad_dims =
      attributes.grouped ? Shape{rows, shape.columns} : Shape{groups, shape.sizes[0], shape.columns};
  made.tensors.push_back({"gradY", dtype, grad_dims, Role::input, Values::symmetric, -10, 2, layout});
  if (attributes.grouped) {
    made.tensors.push_back({"groupIdxOptional",
                            index_dtype,
                            {groups},
                            Role::input,
                            Values::listed,
                            0,
                            0,
                            layout,
                            bias_entries(attributes, shape.sizes)});
  }
  made.tensors.push_back({"out", dtype, {groups, shape.columns}, Role::output, Values::none, 0, 0, layout});
  made.phase1 = bias_phase1(attributes);
  made.phase2 = aclnnGroupedBiasAddGradV2;
  made.minimal_bytes = (rows - shape.rows_left + groups) * shape.columns * element_bytes(dtype) +
                       (attributes.grouped ? groups * element_bytes(index_dtype) : 0);
  made.judge = bias_judge(attributes);
  made.attributes.integers = {{"groupIdxType", attributes.index_type}};
  return made;
}

// Returns `count` groups of up to `most` rows, some of them empty, the same ones each time.
inline std::vector<int64_t> bias_sizes(int64_t count, int64_t most, uint64_t seed) {
  Random random(seed);
  std::vector<int64_t> sizes;
  for (int64_t j = 0; j < count; ++j) sizes.push_back(random.chance(10) ? 0 : random.between(1, most));
  return sizes;
}

inline std::vector<Case> grouped_bias_add_grad_cases() {
  struct Type {
    aclDataType dtype;
    const char* name;
  };
  constexpr BiasAttributes kEnds = {.grouped = true, .index_type = 0};
  constexpr BiasAttributes kSizes = {.grouped = true, .index_type = 1};
  constexpr BiasAttributes kEqual = {.grouped = false, .index_type = 0};
  std::vector<Case> cases;
  for (const Type& type : {Type{ACL_FLOAT, "FLOAT"}, {ACL_FLOAT16, "FLOAT16"}, {ACL_BF16, "BF16"}}) {
    const auto add = [&](const char* what, const BiasAttributes& attributes, const BiasShape& shape,
                         aclDataType index_dtype = ACL_INT64, Layout layout = Layout::contiguous) {
      cases.push_back(
          bias_case(type.dtype, index_dtype, attributes, shape, layout, std::string(type.name) + " " + what));
    };
    add("short groups", kEnds, {bias_sizes(300, 8, 1), 257});
    add("groups of all sizes, by size", kSizes, {bias_sizes(40, 200, 2), 129, 5}, ACL_INT32);
    add("one long group", kEnds, {{0, 5000, 3}, 67});
    add("one group has nearly all rows", kSizes, {{3, 1, 2700, 512, 513, 1, 64}, 96});
    add("equal groups", kEqual, {std::vector<int64_t>(7, 530), 80});
    add("many equal groups", kEqual, {std::vector<int64_t>(900, 3), 131});
    add("wide rows", kEnds, {{20, 1, 30}, 5003});
    add("rows in tiles", kEnds, {{3, 70, 600}, 9001});
    add("rows of several strips", kSizes, {{0, 1300, 64, 65, 3, 0, 700, 1}, 264});
    add("wide rotated views", kEnds, {{3, 70, 9}, 2603}, ACL_INT64, Layout::mixed);
    add("rows of less than a pair of vectors", kSizes, {bias_sizes(60, 150, 5), 11});
    add("one column", kEnds, {{1, 64, 65, 513, 4000}, 1}, ACL_INT32);
    add("padded rows", kSizes, {bias_sizes(30, 100, 3), 201}, ACL_INT32, Layout::padded);
    add("rotated views, negative strides", kEnds, {bias_sizes(20, 700, 4), 77}, ACL_INT64, Layout::mixed);
    add("rotated views, equal groups", kEqual, {std::vector<int64_t>(11, 520), 45}, ACL_INT64, Layout::mixed);
  }
  return cases;
}

// Makes a random case with at most about `elements` elements.
inline Case grouped_bias_add_grad_random_case(Draw& draw, int64_t elements) {
  const aclDataType dtype = draw.pick(kFloatDtypes), index_dtype = draw.chance(2) ? ACL_INT32 : ACL_INT64;
  BiasAttributes attributes = {.grouped = !draw.chance(4), .index_type = draw.below(2)};
  BiasShape shape;
  const int64_t groups = draw.between(1, 9);
  shape.sizes = attributes.grouped ? draw.sizes(groups, elements / groups + 1)
                                   : std::vector<int64_t>(static_cast<size_t>(groups), draw.between(1, 40));
  if (!attributes.grouped) attributes.index_type = 0;
  const int64_t rows = std::accumulate(shape.sizes.begin(), shape.sizes.end(), int64_t{1});
  shape.columns = draw.between(1, std::max<int64_t>(1, elements / rows));
  if (attributes.grouped) shape.rows_left = draw.below(3);
  const Layout layout = draw.layout();
  return bias_case(dtype, index_dtype, attributes, shape, layout, std::to_string(draw.seed()));
}

// For measuring errors: at least `elements` results per dtype, most of them short sums, some long and a few
// very long.
inline std::vector<Case> grouped_bias_add_grad_numerics_cases(int64_t elements) {
  struct Sums {
    const char* name;
    BiasAttributes attributes;
    std::vector<int64_t> sizes;
    int64_t columns;
    double share;  // of the elements
  };
  const Sums sums[] = {
      {"short sums", {.grouped = true, .index_type = 0}, bias_sizes(1000, 3, 1), 200, .5},
      {"sums of 2", {.grouped = false, .index_type = 0}, std::vector<int64_t>(1000, 2), 200, .5},
      {"sums of about 65 terms", {.grouped = true, .index_type = 1}, bias_sizes(100, 130, 2), 50, .01},
      {"sums of 513 terms", {.grouped = false, .index_type = 0}, std::vector<int64_t>(10, 513), 20, .001},
      {"sums of 70000 terms", {.grouped = true, .index_type = 0}, {70000}, 3, 1e-6}};
  std::vector<Case> cases;
  for (const aclDataType dtype : kFloatDtypes) {
    for (const Sums& s : sums) {
      const auto results = static_cast<double>(static_cast<int64_t>(s.sizes.size()) * s.columns);
      const auto repeats = static_cast<int64_t>(static_cast<double>(elements) * s.share / results) + 1;
      for (int64_t n = 0; n < std::max<int64_t>(repeats, 3); ++n) {
        cases.push_back(bias_case(dtype, ACL_INT64, s.attributes, {s.sizes, s.columns}, Layout::contiguous,
                                  std::string(dtype_name(dtype)) + " " + s.name + " " + std::to_string(n)));
        set_sum_data(cases.back().tensors[kBiasGradY], n);
      }
    }
  }
  return cases;
}

// The judge of a recorded call.
inline JudgeResults grouped_bias_add_grad_recorded_judge(const RecordedCall& call) {
  return bias_judge(recorded_bias_attributes(call));
}

}  // namespace openaclnn_verify
