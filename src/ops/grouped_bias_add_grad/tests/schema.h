// GroupedBiasAddGrad as a schema: a valid call, the mistakes of its own rules, and the calls that phase 1
// accepts.
#pragma once

#include <string>
#include <vector>

#include "ops/grouped_bias_add_grad/verify/description.h"
#include "support/phase1_mistakes.h"

namespace openaclnn_test {
namespace grouped_bias_add_grad_schema {

enum Tensor { kGradY, kGroupIdx, kOut };
enum Number { kGroupIdxType };

struct Version {
  int number;    // 1 or 2
  bool grouped;  // groupIdx is given
};
inline constexpr Version kVersions[] = {{1, true}, {1, false}, {2, true}, {2, false}};

inline std::string name_of(const Version& version) {
  return std::string(version.number == 1 ? "first" : "second") + " version " +
         (version.grouped ? "with" : "without") + " groupIdx";
}

inline std::vector<Part> all_of_group_index() {
  return {{Part::handle, kGroupIdx},
          {Part::dtype, kGroupIdx},
          {Part::dims, kGroupIdx},
          {Part::format, kGroupIdx}};
}

// Mistakes of the dims: 12 rows in 3 groups, or 3 groups of 4 rows; 8 columns.
inline std::vector<Mistake> shape_mistakes(bool grouped) {
  std::vector<Part> both = all_of_group_index();
  both.push_back({Part::dims, kGradY});
  if (!grouped) {
    const std::string rank = "its rank must be 3: [G, C, H] without groupIdxOptional";
    return {
        bad_dims("groupIdx NULL: gradY rank 3", kGradY, {12, 8}, {"gradY has shape [12, 8]", rank}),
        bad_dims("groupIdx NULL: gradY rank 3", kGradY, {3, 4, 8, 1}, {"gradY has shape [3, 4, 8, 1]", rank}),
        bad_call(kShapeRule, "groupIdx given: gradY rank 2", both,
                 [](CallArguments& a) { a.tensors[kGroupIdx].handle = Handle::live; },
                 {"gradY has shape [3, 4, 8]", "its rank must be 2: [R, H] with groupIdxOptional"}),
    };
  }
  const std::string rank = "its rank must be 2: [R, H] with groupIdxOptional";
  return {
      bad_dims("groupIdx given: gradY rank 2", kGradY, {3, 4, 8}, {"gradY has shape [3, 4, 8]", rank}),
      bad_dims("groupIdx given: gradY rank 2", kGradY, {}, {"gradY has shape []", rank}),
      bad_call(kShapeRule, "groupIdx NULL: gradY rank 3", both,
               [](CallArguments& a) { a.tensors[kGroupIdx].handle = Handle::null; },
               {"gradY has shape [12, 8]", "its rank must be 3: [G, C, H] without groupIdxOptional"}),
      bad_dims("groupIdx given: groupIdx rank 1", kGroupIdx, {3, 1},
               {"groupIdxOptional has shape [3, 1]", "its rank must be 1"}),
      bad_dims("groupIdx given: groupIdx rank 1", kGroupIdx, {},
               {"groupIdxOptional has shape []", "its rank must be 1"}),
      bad_call(kShapeRule, "out rank 2 = [G, H]", {{Part::dims, kGroupIdx}, {Part::dims, kOut}},
               [](CallArguments& a) { a.tensors[kGroupIdx].dims = {4}; },
               {"out has shape [3, 8]; it must be [G, H] = [4, 8]"}),
  };
}

inline std::string refusal(const CallArguments& a) {
  const TensorArgument &grad_y = a.tensors[kGradY], &groups = a.tensors[kGroupIdx], &out = a.tensors[kOut];
  const bool grouped = groups.handle != Handle::null;
  if (!has_dtype(grad_y)) return says_dtype(grad_y);
  if (grouped && !has_dtype(groups)) return says_dtype(groups);
  if (out.dtype != grad_y.dtype) return says_dtype(out);
  if (grad_y.dims.size() != (grouped ? 2 : 3)) return says_shape(grad_y);
  if (grouped && groups.dims.size() != 1) return says_shape(groups);
  if (out.dims != Shape{grouped ? groups.dims[0] : grad_y.dims[0], grad_y.dims.back()})
    return says_shape(out);
  const int64_t type = a.numbers.empty() ? 0 : a.numbers[kGroupIdxType];  // absent in the first version
  return type == 0 || type == 1 ? "" : "groupIdxType is " + std::to_string(type) + ";";
}

inline Schema bias_test(const Version& version) {
  const bool grouped = version.grouped;
  CallArguments valid = {.tensors = {{ACL_FLOAT, grouped ? Shape{12, 8} : Shape{3, 4, 8}},
                                     {ACL_INT64, {3}, grouped ? Handle::live : Handle::null, {5, 5, 12}},
                                     {ACL_FLOAT, {3, 8}}}};
  const bool is_second = version.number == 2;
  if (is_second) valid.numbers = {0};
  Schema test = schema_of(openaclnn_verify::grouped_bias_add_grad_descriptions()[is_second], valid);
  test.refusal = refusal;

  std::vector<Mistake>& mistakes = test.mistakes;
  mistakes.push_back(bad_dtype("gradY FLOAT, FLOAT16, BF16", kGradY, ACL_INT32,
                               {"gradY has dtype ACL_INT32", "ACL_FLOAT, ACL_FLOAT16 or ACL_BF16"}));
  if (grouped) {
    mistakes.push_back(
        bad_dtype("groupIdx INT32, INT64", kGroupIdx, ACL_INT16,
                  {"groupIdxOptional has dtype ACL_INT16; it must be ACL_INT32 or ACL_INT64"}));
  }
  mistakes.push_back(bad_dtype("out = gradY", kOut, ACL_BF16,
                               {"out has dtype ACL_BF16 but gradY has dtype ACL_FLOAT; they must be equal"}));
  append(mistakes, shape_mistakes(grouped));
  for (const auto& [dims, shape] : {std::pair(Shape{24}, "[24]"),
                                    {Shape{3, 8, 1}, "[3, 8, 1]"},
                                    {Shape{4, 8}, "[4, 8]"},
                                    {Shape{3, 9}, "[3, 9]"}}) {
    mistakes.push_back(bad_dims("out rank 2 = [G, H]", kOut, dims,
                                {std::string("out has shape ") + shape + "; it must be [G, H] = [3, 8]"}));
  }
  if (is_second) {
    mistakes.push_back(bad_number(kAttributeRule, "groupIdxType 0 or 1, also when groupIdx is NULL",
                                  kGroupIdxType, 2, {"groupIdxType is 2; it must be 0", "or 1"}));
  }
  return test;
}

}  // namespace grouped_bias_add_grad_schema

inline std::vector<Schema> grouped_bias_add_grad_schemas() {
  std::vector<Schema> all;
  for (const auto& version : grouped_bias_add_grad_schema::kVersions)
    all.push_back(grouped_bias_add_grad_schema::bias_test(version));
  return all;
}
}  // namespace openaclnn_test
