// ApplyFusedEmaAdamList for fuzzers: lists of tensors of any dtypes and state, scales and flags of any value.
#pragma once

#include "fuzz/operator_call.h"
#include "ops/apply_fused_ema_adam/tests/fuzz.h"
#include "ops/apply_fused_ema_adam_list/verify/cases.h"
#include "support/verify.h"

namespace openaclnn_test {

inline IndexCase fuzzed_index(Fuzz& fuzz, bool has_copies) {
  IndexCase index;
  index.dims.resize(static_cast<size_t>(fuzz.in.below(3)));
  for (int64_t& dim : index.dims) dim = fuzz.in.pick({3, 1, 0, 2, 5});
  index.grad = fuzz.float_dtype();
  if (!has_copies) {
    const bool is_uniform = fuzz.in.chance();
    index.var = is_uniform ? index.grad : fuzz.float_dtype();
    index.state = is_uniform ? index.grad : ACL_FLOAT;
  }
  index.copy = fuzz.in.pick({ACL_BF16, ACL_FLOAT16});
  return index;
}

inline OperatorCall apply_fused_ema_adam_list_fuzz_call(Fuzz fuzz) {
  Input& in = fuzz.in;
  ListForm form;
  form.attributes = fuzzed_ema_attributes(in);
  const int64_t t = fuzzed_step(in);
  form.length = static_cast<size_t>(in.below(4));
  form.has_copies = in.chance();
  form.has_scale = in.chance();
  form.has_found_inf = in.chance();
  std::vector<IndexCase> indices;
  for (size_t n = 0; n < form.length; ++n) indices.push_back(fuzzed_index(fuzz, form.has_copies));
  OperatorCall call;
  for (size_t k = 0; k < form.lists(); ++k) {
    const Role role = k == kGrad ? Role::input : k == kCopy ? Role::output : Role::reference;
    for (const IndexCase& index : indices)
      call.tensors.push_back(fuzz.memory.tensor(in, role, index.dtype(k), index.dims));
  }
  call.tensors.push_back(fuzz.input(ACL_INT64, {1}));
  call.tensors.back().host.set_bits(0, static_cast<uint64_t>(t));
  const float number[] = {1, 1024, 3, 0, std::numeric_limits<float>::infinity(), std::nanf("")};
  const float scale = in.pick(number);
  const float flag = in.pick({0.0f, -0.0f, 0.0f, 1.0f, std::nanf("")});
  for (const auto& [given, value] : {std::pair(form.has_scale, scale), {form.has_found_inf, flag}}) {
    if (!given) continue;
    call.tensors.push_back(fuzz.input(ACL_FLOAT, {1}));
    call.tensors.back().host.set(0, static_cast<double>(value));
  }
  const FuzzData data = fuzz.data();
  Random random(in.bits());
  for (size_t at = 0; at < form.at(kCopy, 0); ++at) fill(call.tensors[at].host, data, random);
  call.phase1 = ema_list_phase1(form);
  call.phase2 = openaclnnApplyFusedEmaAdamList;
  if (form.has_found_inf && flag != 0) return call;  // the step is skipped

  call.wanted.resize(form.step());
  const EmaBitsReference reference(ACL_FLOAT, form.attributes, t);
  const auto bits_of = [](float value) { return uint64_t{std::bit_cast<uint32_t>(value)}; };
  bool is_empty = true;
  for (size_t n = 0; n < form.length; ++n) {
    for (int64_t i = 0; i < call.tensors[form.at(kGrad, n)].host.numel(); ++i) {
      is_empty = false;
      std::array<uint64_t, kStep> bits;
      for (size_t k = 0; k < kCopy; ++k) {
        const float value = static_cast<float>(call.tensors[form.at(k, n)].host.get(i));
        bits[k] = bits_of(k == kGrad && form.has_scale ? value / scale : value);
      }
      const std::array<uint64_t, kStep> results = reference(bits);
      for (size_t k = kVar; k < form.lists(); ++k) {
        const aclDataType dtype = indices[n].dtype(k);
        const double result = decode(ACL_FLOAT, results[k == kCopy ? size_t{kVar} : k]);
        add_bits(call.wanted[form.at(k, n)], encode(dtype, result), element_bytes(dtype));
      }
    }
  }
  if (!is_empty) call.fault = fuzzed_step_fault(form.attributes, t);
  return call;
}

}  // namespace openaclnn_test
