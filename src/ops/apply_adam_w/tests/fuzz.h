// ApplyAdamW for fuzzers: either version, any state, any hyperparameters, any step count.
#pragma once

#include <limits>
#include <string>

#include "fuzz/operator_call.h"
#include "ops/apply_adam_w/verify/cases.h"
#include "support/verify.h"

namespace openaclnn_test {

inline AdamWSetup fuzzed_adam_w_setup(Fuzz& fuzz) {
  Input& in = fuzz.in;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto real = [&in](double usual) {
    const double values[] = {usual, usual, usual, 0, 1, -1, .5, 2, 1e-30, 1e30, kInfinity, std::nan("")};
    return in.pick(values);
  };
  AdamWSetup s = adam_w_setup(in.chance() ? 1 : 2, fuzz.float_dtype(), in.chance());
  if (s.version == 2 && s.dtype == ACL_FLOAT) {
    s.grad_dtype = fuzz.float_dtype();
    s.maximum_dtype = in.chance() ? s.grad_dtype : s.dtype;
  }
  s.maximize = in.chance();
  for (double* const number : {&s.lr, &s.beta1, &s.beta2, &s.weight_decay, &s.eps}) *number = real(*number);
  s.step_dtype = in.chance() ? ACL_FLOAT : ACL_INT64;
  return s;
}

// The step's bits, and its fault in strict mode.
inline std::string fuzzed_adam_w_step(Input& in, HostTensor& step) {
  if (step.dtype() == ACL_INT64) {
    const auto count = in.pick<int64_t>({0, 1, 6, 1000, -1, -2, INT64_MIN, INT64_MAX, int64_t{1} << 62});
    step.set_bits(0, static_cast<uint64_t>(count));
    return count < 0 ? "step is " + std::to_string(count) + ";" : "";
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double counts[] = {0, 1, 6.75, 1000, -.5, -1, -kInfinity, kInfinity, std::nan(""), 1e30};
  const double count = in.pick(counts);
  step.set(0, count);
  return std::isnan(count) || count <= -1 ? "step is " : "";
}

inline OperatorCall apply_adam_w_fuzz_call(Fuzz fuzz) {
  Input& in = fuzz.in;
  const AdamWSetup s = fuzzed_adam_w_setup(fuzz);
  Shape dims(static_cast<size_t>(in.below(3)));
  for (int64_t& dim : dims) dim = in.pick({3, 1, 0, 2, 5, 7});
  const FuzzData data = fuzz.data();
  Random random(in.bits());
  OperatorCall call;
  std::vector<HostTensor> hosts;
  const Case described = adam_w_case(s, dims, Layout::contiguous, "fuzz");
  for (const TensorCase& tensor : described.tensors) {
    call.tensors.push_back(tensor.role == Role::input ? fuzz.input(tensor.dtype, tensor.dims)
                                                      : fuzz.reference(tensor.dtype, tensor.dims));
    hosts.push_back(call.tensors.back().host);
    fill(hosts.back(), data, random);
  }
  std::string fault;
  if (s.version == 1) {
    const double numbers[] = {s.beta1, s.beta2, s.lr, s.weight_decay, s.beta1, s.beta2, s.eps};
    for (size_t k = 0; k < std::size(numbers); ++k) hosts[AdamWSetup::kScalarsAt + k].set(0, numbers[k]);
  } else {
    fault = fuzzed_adam_w_step(in, hosts[s.step_at()]);
  }
  call.phase1 = described.phase1;
  call.phase2 = described.phase2;
  call.wanted.resize(hosts.size());
  const AdamWBitsReference reference(s, adam_w_given(s, hosts));
  for (int64_t i = 0; i < hosts[0].numel(); ++i) {
    std::array<uint64_t, kAdamParts> bits = {};
    for (size_t part = 0; part < kAdamParts; ++part) {
      if (adam_w_has(s, part)) bits[part] = hosts[adam_w_position(s, part)].bits(i);
    }
    const std::array<uint64_t, kAdamParts> wanted = reference(bits);
    for (size_t part = 0; part < kAdamGrad; ++part) {
      if (!adam_w_writes(s, part)) continue;
      const size_t at = adam_w_position(s, part);
      add_bits(call.wanted[at], wanted[part], element_bytes(hosts[at].dtype()));
    }
  }
  if (hosts[0].numel() > 0 && fuzz_mode() == FuzzMode::strict) call.fault = fault;
  return call;
}

}  // namespace openaclnn_test
