// ApplyAdamW: phase 1 refusals specific to the two versions of this operator. support/phase1_refusals.h has
// the suite.
#include <gtest/gtest.h>

#include "ops/apply_adam_w/tests/schema.h"
#include "support/phase1_refusals.h"

namespace openaclnn_test {
namespace {

using namespace apply_adam_w_schema;

// A maximum is checked even without amsgrad.
std::vector<Trial> needless_maximum(const Form& form) {
  const size_t maximum = maximum_at(form.version);
  const auto give = [maximum](const Shape& dims) {
    return [maximum, dims](CallArguments& a) {
      a.tensors[maximum].handle = Handle::live;
      a.tensors[maximum].dims = dims;
    };
  };
  const std::string name = adam_w_test(form).valid.tensors[maximum].name;
  return {accepts("a needless maximum", give({4, 8})),
          refuses("a needless maximum", give({8, 4}), {name + " has shape [8, 4]"})};
}

// Every mix of three dtypes for varRef (and the moments), grad and the maximum.
std::vector<Trial> mixed_dtypes(const Form& form) {
  const int version = form.version;
  std::vector<Trial> trials;
  for (const aclDataType var : kFloatDtypes) {
    for (const aclDataType grad : kFloatDtypes) {
      for (const aclDataType largest : kFloatDtypes) {
        const auto change = [=](CallArguments& a) {
          for (size_t k = 0; k < a.tensors.size(); ++k) {
            if (version == 1 || k < 3) a.tensors[k].dtype = var;
          }
          a.tensors[grad_at(version)].dtype = grad;
          a.tensors[maximum_at(version)].dtype = largest;
        };
        const bool fits = version == 1
                              ? grad == var && largest == var
                              : (grad == var || var == ACL_FLOAT) && (largest == var || largest == grad);
        const std::string what = list_text({var, grad, largest});
        trials.push_back(fits ? accepts(what, change) : refuses(what, change, {}));
      }
    }
  }
  return trials;
}

// Changes all tensors that have the shape of varRef.
std::function<void(CallArguments&)> with_large(const Shape& dims, const Shape& strides) {
  return [=](CallArguments& a) {
    for (TensorArgument& tensor : a.tensors) {
      if (tensor.dims != Shape{4, 8}) continue;
      tensor.dims = dims;
      tensor.strides = strides;
    }
  };
}

std::vector<Mistake> limits(const Schema& schema) {
  std::vector<Part> all_dims;
  for (size_t k = 0; k < schema.valid.tensors.size(); ++k) {
    if (schema.valid.tensors[k].dims == Shape{4, 8}) all_dims.push_back({Part::dims, k});
  }
  return {bad_call(kLimitRule, "rank >= 1", all_dims, with_large({}, {}),
                   {"varRef has rank 0", "OPENACLNN_LIMITS=vendor"})};
}

std::vector<AcceptedDtypes> dtypes(const Form& form, const Schema& schema) {
  AcceptedDtypes all = {{0, 1, 2, grad_at(form.version)}, schema.valid.tensors[0].dtypes};
  if (form.amsgrad) all.together.push_back(maximum_at(form.version));
  for (size_t k = 3; form.version == 1 && k < 10; ++k) all.together.push_back(k);
  if (form.version == 1) return {all};
  return {all, {{5}, {ACL_INT64, ACL_FLOAT}}};
}

std::vector<Refusals> refusals() {
  std::vector<Refusals> all;
  for (const Form& form : kForms) {
    const std::string name = "V" + std::to_string(form.version) + (form.amsgrad ? "amsgrad" : "");
    const Schema schema = adam_w_test(form);
    Refusals basic = {.name = name, .schema = schema, .least_pairs = 1000, .dtypes = dtypes(form, schema)};
    basic.trials = form.amsgrad ? mixed_dtypes(form) : needless_maximum(form);
    // Empty tensors have no elements that could overlap.
    basic.trials.push_back(needs_nothing("empty tensors", with_large({4, 0}, {0, 0})));
    append(basic.trials, accepted_mistakes(limits(schema)));
    all.push_back(basic);
    all.push_back({.name = name + "Vendor",
                   .schema = with_mistakes(schema, limits(schema)),
                   .least_pairs = 1000,
                   .dtypes = dtypes(form, schema),
                   .environment = kVendorLimits});
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(AdamW, Phase1Refusals, testing::ValuesIn(refusals()), Refusals::name_of);

}  // namespace
}  // namespace openaclnn_test
