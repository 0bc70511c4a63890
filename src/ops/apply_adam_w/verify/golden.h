// The golden of ApplyAdamW in both versions: the formula in arithmetic of 106 bits.
#pragma once

#include <array>
#include <cmath>
#include <string>

#include "ops/apply_adam_w/verify/golden_update.h"
#include "verify/dtypes.h"

namespace openaclnn_verify {

// Returns the numbers of a call of the first version, which reads them from tensors of one element.
inline AdamWGiven given_by_tensors(const GivenTensors& given) {
  const auto number = [&](const char* name) {
    const Array& tensor = given.read(name, kFloatDtypes);
    if (tensor.numel() != 1) reject(std::string(name) + " must have one element");
    return tensor.get(0);
  };
  return {number("lr"),  number("beta1"),      number("beta2"),     number("weightDecay"),
          number("eps"), number("beta1Power"), number("beta2Power")};
}

// Returns the numbers of a call of the second version: attributes as floats, and the steps before this one.
inline AdamWGiven given_by_attributes(const AdamWSetup& s, const GivenTensors& given) {
  const auto single = [](double x) { return static_cast<double>(static_cast<float>(x)); };
  AdamWGiven x = {single(s.lr), single(s.beta1), single(s.beta2), single(s.weight_decay), single(s.eps)};
  constexpr aclDataType kStepDtypes[] = {ACL_INT64, ACL_FLOAT};
  const Array& step = given.read("step", kStepDtypes);
  if (step.numel() == 0) reject("step is empty; it must have an element");
  int64_t before = 0;
  if (step.dtype == ACL_INT64) {
    before = integer_at(step, 0);
  } else {
    const double count = step.get(0);
    x.step_is_nan = std::isnan(count);
    before = x.step_is_nan     ? 0
             : count >= 0x1p63 ? INT64_MAX
             : count < -0x1p63 ? INT64_MIN
                               : static_cast<int64_t>(count);
  }
  x.t = before == INT64_MAX ? before : before + 1;
  return x;
}

inline Golden apply_adam_w_golden(const GoldenCall& call) {
  const bool is_first = call.arguments.tensors.contains("beta1Power");
  constexpr std::array kFirst = {"varRef",     "mRef", "vRef",        "beta1Power",
                                 "beta2Power", "lr",   "weightDecay", "beta1",
                                 "beta2",      "eps",  "grad",        "maxGradNormOptional"};
  constexpr std::array kSecond = {"varRef", "mRef", "vRef", "maxGradNormOptionalRef", "grad", "step"};
  const GivenTensors given(call, is_first ? std::span<const char* const>(kFirst) : kSecond);
  integer_of(call.arguments, "amsgrad");
  integer_of(call.arguments, "maximize");
  for (const char* const name : {"lr", "beta1", "beta2", "weightDecay", "eps"})
    if (!is_first) real_of(call.arguments, name);
  const AdamWSetup s = recorded_adam_w_setup(call.arguments);
  const AdamWGiven numbers = is_first ? given_by_tensors(given) : given_by_attributes(s, given);

  const char* const maximum = is_first ? "maxGradNormOptional" : "maxGradNormOptionalRef";
  const std::array<const char*, kAdamParts> names = {"varRef", "mRef", "vRef", maximum, "grad"};
  AdamWTensors tensors = {};
  for (size_t part = 0; part < kAdamParts; ++part) {
    if (part == kAdamMaximum && !s.amsgrad) continue;
    tensors[part] = &given.read(names[part], kFloatDtypes);
    require_dims(names[part], *tensors[part], tensors[0]->dims);
  }
  Golden golden;
  for (size_t part = 0; part < kAdamMaximum; ++part)
    golden.outputs.push_back(new_output(names[part], *tensors[part]));
  if (s.writes_maximum()) golden.outputs.push_back(new_output(maximum, *tensors[kAdamMaximum]));
  AdamWUpdate(s, numbers).compute(tensors, call.threads, golden.outputs);
  // Without amsgrad, the second version leaves a maximum as it is.
  if (!is_first && !s.amsgrad && given.has(maximum))
    golden.outputs.push_back(unchanged_output(maximum, given.read(maximum, kFloatDtypes)));
  return golden;
}

}  // namespace openaclnn_verify
