// ApplyAdamW as schemas, one for each version with and without amsgrad: a valid call, the mistakes of its own
// rules, and the calls that phase 1 accepts.
#pragma once

#include <string>
#include <vector>

#include "ops/apply_adam_w/verify/description.h"
#include "support/phase1_mistakes.h"

namespace openaclnn_test {
namespace apply_adam_w_schema {

inline constexpr const char* kFloats = "ACL_FLOAT, ACL_FLOAT16 or ACL_BF16";

struct Form {
  int version;
  bool amsgrad;
};
inline constexpr Form kForms[] = {{1, false}, {1, true}, {2, false}, {2, true}};

// Positions including that of the maximum, whether it is NULL or not.
inline constexpr size_t kVar = 0;
inline size_t grad_at(int version) { return version == 1 ? 10 : 4; }
inline size_t maximum_at(int version) { return version == 1 ? 11 : 3; }

inline bool is_number(int version, size_t k) { return version == 1 ? k >= 3 && k < 10 : k == 5; }

// The dtypes that may differ from varRef's.
inline bool may_have_dtype(int version, const CallArguments& a, size_t k) {
  const aclDataType dtype = a.tensors[k].dtype, var = a.tensors[kVar].dtype,
                    grad = a.tensors[grad_at(version)].dtype;
  if (dtype == var) return true;
  if (version == 1) return false;
  return k == grad_at(2) ? var == ACL_FLOAT : k == maximum_at(2) && dtype == grad;
}

inline std::string refusal(int version, const CallArguments& a) {
  const auto is_given = [&](size_t k) { return a.tensors[k].handle != Handle::null; };
  const size_t count = a.tensors.size();
  for (size_t k = 0; k < count; ++k) {
    if (!is_given(k)) continue;
    if (!has_dtype(a.tensors[k])) return says_dtype(a.tensors[k]);
  }
  for (size_t k = 0; k < count; ++k) {
    const bool is_step = version == 2 && k == 5;
    if (is_given(k) && !is_step && !may_have_dtype(version, a, k)) return says_dtype(a.tensors[k]);
  }
  for (size_t k = 0; k < count; ++k) {
    if (!is_given(k)) continue;
    const Shape& dims = a.tensors[k].dims;
    if (is_number(version, k) ? count_elements(dims) != 1 : dims != a.tensors[kVar].dims)
      return says_shape(a.tensors[k]);
  }
  return "";
}

inline void add_mistakes(const Form& form, std::vector<Mistake>& mistakes, const CallArguments& valid) {
  const auto name = [&](size_t k) { return valid.tensors[k].name; };
  const auto is_given = [&](size_t k) { return valid.tensors[k].handle != Handle::null; };
  const size_t count = valid.tensors.size();
  for (size_t k = 0; k < count; ++k) {
    if (!is_given(k)) continue;
    const bool is_step = form.version == 2 && k == 5;
    mistakes.push_back(bad_dtype(
        "dtype in its list", k, ACL_INT32,
        {name(k) + " has dtype ACL_INT32; it must be ", is_step ? "ACL_INT64 or ACL_FLOAT" : kFloats}));
  }
  for (size_t k = 1; k < count; ++k) {
    if (!is_given(k) || (form.version == 2 && (k == 5 || k == grad_at(2)))) continue;
    mistakes.push_back(
        bad_dtype("equal to varRef", k, ACL_FLOAT16,
                  {name(k) + " has dtype ACL_FLOAT16 but varRef has dtype ACL_FLOAT; they must be equal"}));
  }
  for (size_t k = 1; k < count; ++k) {
    if (!is_given(k)) continue;
    if (is_number(form.version, k)) {
      for (const auto& [dims, shape] : {std::pair(Shape{2}, "[2]"), {Shape{1, 0}, "[1, 0]"}})
        mistakes.push_back(
            bad_dims("one element", k, dims, {name(k) + " has shape " + shape, "one element"}));
    } else {
      mistakes.push_back(
          bad_dims("shape of varRef", k, {8, 4},
                   {name(k) + " has shape [8, 4] but varRef has shape [4, 8]", "must be equal"}));
    }
  }
}

inline Schema adam_w_test(const Form& form) {
  const int version = form.version;
  const TensorArgument large = {ACL_FLOAT, {4, 8}}, one = {ACL_FLOAT, {1}}, step = {ACL_INT64, {1}};
  const TensorArgument maximum = {ACL_FLOAT, {4, 8}, form.amsgrad ? Handle::live : Handle::null};
  CallArguments valid;
  if (version == 1) {
    valid.tensors = {large, large, large, one, one, one, one, one, one, one, large, maximum};
  } else {
    valid.tensors = {large, large, large, maximum, large, step};
    valid.reals = {1e-3, .9, .999, .01, 1e-8};
  }
  valid.flags = {false};  // maximize
  Schema test = schema_of(openaclnn_verify::apply_adam_w_descriptions()[version == 1 ? 0 : 1], valid,
                          {{"amsgrad", form.amsgrad}});
  test.valid.tensors[maximum_at(version)].is_optional = !form.amsgrad;
  test.refusal = [version](const CallArguments& a) { return refusal(version, a); };
  add_mistakes(form, test.mistakes, test.valid);
  if (version == 2) {
    // Only a FLOAT parameter may have a 16-bit gradient.
    test.mistakes.push_back(
        bad_call(kDtypeRule, "grad equal to varRef unless that is FLOAT",
                 {{Part::dtype, 0}, {Part::dtype, 1}, {Part::dtype, 2}, {Part::dtype, maximum_at(2)}},
                 [](CallArguments& a) {
                   for (const size_t k : {size_t{0}, size_t{1}, size_t{2}, maximum_at(2)})
                     a.tensors[k].dtype = ACL_BF16;
                 },
                 {"grad has dtype ACL_FLOAT but varRef has dtype ACL_BF16; they must be equal unless varRef "
                  "is ACL_FLOAT"}));
  }
  if (version == 2 && form.amsgrad) {
    test.mistakes.push_back(bad_call(
        kDtypeRule, "maximum of either dtype", {{Part::dtype, maximum_at(2)}, {Part::dtype, grad_at(2)}},
        [](CallArguments& a) {
          a.tensors[maximum_at(2)].dtype = ACL_FLOAT16;
          a.tensors[grad_at(2)].dtype = ACL_BF16;
        },
        {"maxGradNormOptionalRef has dtype ACL_FLOAT16; it must be that of varRef or "
         "grad, ACL_FLOAT or ACL_BF16"}));
  }
  return test;
}

}  // namespace apply_adam_w_schema

inline std::vector<Schema> apply_adam_w_schemas() {
  std::vector<Schema> all;
  for (const apply_adam_w_schema::Form& form : apply_adam_w_schema::kForms)
    all.push_back(apply_adam_w_schema::adam_w_test(form));
  return all;
}
}  // namespace openaclnn_test
