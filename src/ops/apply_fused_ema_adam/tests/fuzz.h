// ApplyFusedEmaAdam for fuzzers: any state, any attributes, any step count.
#pragma once

#include "fuzz/operator_call.h"
#include "ops/apply_fused_ema_adam/verify/cases.h"
#include "support/verify.h"

namespace openaclnn_test {

inline EmaAttributes fuzzed_ema_attributes(Input& in) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto real = [&in](double usual) {
    const double values[] = {usual, usual, usual, 0, 1, -1, .5, 2, 1e-300, 1e300, kInfinity, std::nan("")};
    return in.pick(values);
  };
  EmaAttributes a;
  a.lr = real(a.lr);
  a.ema_decay = real(a.ema_decay);
  a.beta1 = real(a.beta1);
  a.beta2 = real(a.beta2);
  a.eps = real(a.eps);
  a.weight_decay = real(.1);
  a.mode = in.below(2);
  a.bias_correction = in.chance();
  return a;
}

inline int64_t fuzzed_step(Input& in) {
  return in.pick<int64_t>({1, 2, 7, 1000, int64_t{1} << 62, 0, -1, INT64_MIN, INT64_MAX});
}

inline std::string fuzzed_step_fault(const EmaAttributes& attributes, int64_t t) {
  const bool is_fault = attributes.bias_correction && t < 1 && fuzz_mode() == FuzzMode::strict;
  return is_fault ? "step is " + std::to_string(t) + ";" : "";
}

inline OperatorCall apply_fused_ema_adam_fuzz_call(Fuzz fuzz) {
  Input& in = fuzz.in;
  const aclDataType dtype = fuzz.float_dtype();
  const EmaAttributes attributes = fuzzed_ema_attributes(in);
  const int64_t t = fuzzed_step(in);
  Shape dims(static_cast<size_t>(in.below(3)));
  for (int64_t& dim : dims) dim = in.pick({3, 1, 0, 2, 5, 7});
  OperatorCall call;
  call.tensors.push_back(fuzz.input(dtype, dims));
  for (size_t k = kVar; k < kStep; ++k) call.tensors.push_back(fuzz.reference(dtype, dims));
  call.tensors.push_back(fuzz.input(ACL_INT64, {1}));
  call.tensors[kStep].host.set_bits(0, static_cast<uint64_t>(t));
  const FuzzData data = fuzz.data();
  Random random(in.bits());
  for (size_t k = kGrad; k < kStep; ++k) fill(call.tensors[k].host, data, random);
  call.phase1 = ema_adam_phase1(attributes);
  call.phase2 = aclnnApplyFusedEmaAdam;
  call.wanted.resize(kStep);
  const EmaBitsReference reference(dtype, attributes, t);
  for (int64_t i = 0; i < call.tensors[kGrad].host.numel(); ++i) {
    std::array<uint64_t, kStep> bits;
    for (size_t k = kGrad; k < kStep; ++k) bits[k] = call.tensors[k].host.bits(i);
    const std::array<uint64_t, kStep> wanted = reference(bits);
    for (size_t k = kVar; k < kStep; ++k) add_bits(call.wanted[k], wanted[k], element_bytes(dtype));
  }
  if (call.tensors[kGrad].host.numel() > 0) call.fault = fuzzed_step_fault(attributes, t);
  return call;
}

}  // namespace openaclnn_test
