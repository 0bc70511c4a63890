// One call of ApplyFusedEmaAdam in a test: six tensors, their results, and the comparison with the bits of the contract.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "ops/apply_fused_ema_adam/verify/cases.h"
#include "ops/apply_fused_ema_adam/verify/oracle.h"
#include "support/case_call.h"
#include "support/expect.h"
#include "support/verify.h"
#include "verify/random.h"

namespace openaclnn_test {

inline constexpr const char* kEmaPhase1 = "aclnnApplyFusedEmaAdamGetWorkspaceSize";
inline constexpr const char* kEmaPhase2 = "aclnnApplyFusedEmaAdam";

inline HostTensor step_tensor(int64_t t, Placement placement = Placement::ends_at_guard) {
  HostTensor step(ACL_INT64, {}, Layout::contiguous, placement);
  step.set_bits(0, static_cast<uint64_t>(t));
  return step;
}

// grad, var, m, v, s, step: all but the last have the same shape.
class EmaCall : public CaseCall {
 public:
  EmaCall(aclDataType dtype, const Shape& dims, int64_t t, Layout layout = Layout::contiguous,
          Placement placement = Placement::ends_at_guard)
      : CaseCall({{kEmaNames[kGrad], Role::input},
                  {kEmaNames[kVar], Role::reference},
                  {kEmaNames[kM], Role::reference},
                  {kEmaNames[kV], Role::reference},
                  {kEmaNames[kS], Role::reference},
                  {kEmaNames[kStep], Role::input}},
                 {}, aclnnApplyFusedEmaAdam, tensors_of(dtype, dims, t, layout, placement)) {}

  // Ordinary training data: every result is finite.
  void fill_ordinary(Random& random) {
    for (int64_t i = 0; i < (*this)[kGrad].numel(); ++i) {
      (*this)[kGrad].set(i, random.signed_magnitude(-12, 3));
      (*this)[kVar].set(i, random.signed_magnitude(-10, 3));
      (*this)[kM].set(i, random.signed_magnitude(-12, 3));
      (*this)[kV].set(i, random.magnitude(-14, 4));
      (*this)[kS].set(i, random.signed_magnitude(-10, 3));
    }
  }

  void fill_anything(Random& random) {
    for (int k = 0; k < kStep; ++k) fill_with_anything((*this)[k], random);
  }

  Outcome run(const EmaAttributes& attributes, const RunOptions& options = {}) const {
    Case with_attributes = case_;
    with_attributes.phase1 = ema_adam_phase1(attributes);
    return run_case(with_attributes, tensors_, options);
  }

  // The elements' bits in row-major order, tensor by tensor.
  using Bits = std::array<std::vector<uint64_t>, kStep>;
  Bits bits() const {
    Bits all;
    for (int k = 0; k < kStep; ++k) all[static_cast<size_t>(k)] = (*this)[k].all_bits();
    return all;
  }

  int64_t t() const { return static_cast<int64_t>((*this)[kStep].bits(0)); }

  // The results that the contract prescribes for the current contents. `t` matters only with bias correction.
  Bits expected(const EmaAttributes& attributes) const {
    const EmaBitsReference reference((*this)[kGrad].dtype(), attributes, t());
    Bits all = bits();
    for (size_t i = 0; i < all[0].size(); ++i) {
      const auto results = reference({all[0][i], all[1][i], all[2][i], all[3][i], all[4][i]});
      for (size_t k = 0; k < kStep; ++k) all[k][i] = results[k];
    }
    return all;
  }

  // Runs the call and compares everything: outcome, bits of all tensors, untouched grad, step and gaps.
  ::testing::AssertionResult run_and_compare(const EmaAttributes& attributes,
                                             const RunOptions& options = {}) {
    const Bits wanted = expected(attributes);
    remember();
    if (auto ran = succeeded(run(attributes, options)); !ran) return ran;
    if (auto intact = memory_intact(); !intact) return intact;
    return has_all_bits(wanted);
  }

  ::testing::AssertionResult has_all_bits(const Bits& wanted) const {
    for (size_t k = 0; k < kStep; ++k) {
      if (auto same = has_bits(k, wanted[k]); !same) return same;
    }
    return ::testing::AssertionSuccess();
  }

 private:
  static std::vector<HostTensor> tensors_of(aclDataType dtype, const Shape& dims, int64_t t, Layout layout,
                                            Placement placement) {
    std::vector<HostTensor> tensors;
    for (int k = 0; k < kStep; ++k) tensors.emplace_back(dtype, dims, layout, placement);
    tensors.push_back(step_tensor(t, placement));
    return tensors;
  }
};

}  // namespace openaclnn_test
