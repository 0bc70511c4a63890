// One call of ApplyFusedEmaAdam in a test: six tensors, their results, and the comparison with the bits of the contract.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "ops/apply_fused_ema_adam/verify/cases.h"
#include "ops/apply_fused_ema_adam/verify/oracle.h"
#include "support/expect.h"
#include "support/verify.h"
#include "verify/random.h"

namespace openaclnn_test {

inline constexpr aclDataType kEmaDtypes[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16};
inline constexpr const char* kEmaPhase1 = "aclnnApplyFusedEmaAdamGetWorkspaceSize";
inline constexpr const char* kEmaPhase2 = "aclnnApplyFusedEmaAdam";

inline HostTensor step_tensor(int64_t t, Placement placement = Placement::ends_at_guard) {
  HostTensor step(ACL_INT64, {}, Layout::contiguous, placement);
  step.set_bits(0, static_cast<uint64_t>(t));
  return step;
}

// grad, var, m, v, s, step: all of one shape but the last.
class EmaCall {
 public:
  EmaCall(aclDataType dtype, const Shape& dims, int64_t t, Layout layout = Layout::contiguous,
          Placement placement = Placement::ends_at_guard) {
    for (int k = 0; k < kStep; ++k) tensors_.emplace_back(dtype, dims, layout, placement);
    tensors_.push_back(step_tensor(t, placement));
  }

  HostTensor& operator[](int which) { return tensors_[static_cast<size_t>(which)]; }
  const HostTensor& operator[](int which) const { return tensors_[static_cast<size_t>(which)]; }
  void replace(int which, HostTensor tensor) { tensors_[static_cast<size_t>(which)] = std::move(tensor); }

  // Ordinary training data: every result is finite.
  void fill_ordinary(Random& random) {
    for (int64_t i = 0; i < (*this)[kGrad].numel(); ++i) {
      (*this)[kGrad].set(i, random.sign() * random.magnitude(-12, 3));
      (*this)[kVar].set(i, random.sign() * random.magnitude(-10, 3));
      (*this)[kM].set(i, random.sign() * random.magnitude(-12, 3));
      (*this)[kV].set(i, random.magnitude(-14, 4));
      (*this)[kS].set(i, random.sign() * random.magnitude(-10, 3));
    }
  }

  // Any bits at all, with the special values often.
  void fill_anything(Random& random) {
    const aclDataType dtype = (*this)[kGrad].dtype();
    const double inf = std::numeric_limits<double>::infinity();
    const FloatFormat& format = *float_format(dtype);
    const double smallest = std::ldexp(1.0, format.min_exponent - format.precision + 1);
    const double specials[] = {0.0,
                               -0.0,
                               inf,
                               -inf,
                               std::nan(""),
                               smallest,
                               -3 * smallest,
                               std::ldexp(1.0, format.min_exponent),
                               std::ldexp(1.5, format.max_exponent),
                               -std::ldexp(1.5, format.max_exponent),
                               1,
                               -1,
                               -0.25};
    for (int k = 0; k < kStep; ++k) {
      for (int64_t i = 0; i < (*this)[k].numel(); ++i) {
        if (random.chance(4)) {
          (*this)[k].set(i, specials[random.below(std::size(specials))]);
        } else if (random.chance(3)) {
          (*this)[k].set_bits(i, random.bits());
        } else {
          (*this)[k].set(i, random.sign() * random.magnitude(-14, 4));
        }
      }
    }
  }

  Outcome run(const EmaAttributes& attributes, const RunOptions& options = {}) const {
    std::vector<const HostTensor*> pointers;
    for (const HostTensor& tensor : tensors_) pointers.push_back(&tensor);
    return run_operator(pointers, ema_adam_phase1(attributes), aclnnApplyFusedEmaAdam, options);
  }

  // The elements' bits in row-major order, tensor by tensor.
  using Bits = std::array<std::vector<uint64_t>, kStep>;
  Bits bits() const {
    Bits all;
    for (int k = 0; k < kStep; ++k) all[static_cast<size_t>(k)] = (*this)[k].all_bits();
    return all;
  }

  int64_t t() const { return static_cast<int64_t>((*this)[kStep].bits(0)); }

  // The results that the contract prescribes for the present contents. `t` counts only with bias correction.
  Bits expected(const EmaAttributes& attributes) const {
    const EmaBitsReference reference((*this)[kGrad].dtype(), attributes, t());
    Bits all = bits();
    for (size_t i = 0; i < all[0].size(); ++i) {
      const auto results = reference({all[0][i], all[1][i], all[2][i], all[3][i], all[4][i]});
      for (size_t k = 0; k < kStep; ++k) all[k][i] = results[k];
    }
    return all;
  }

  // Runs and compares everything: outcome, bits of all tensors, grad and step untouched, gaps untouched.
  ::testing::AssertionResult run_and_compare(const EmaAttributes& attributes,
                                             const RunOptions& options = {}) {
    const Bits wanted = expected(attributes);
    (*this)[kGrad].remember();
    (*this)[kStep].remember();
    if (auto ran = succeeded(run(attributes, options)); !ran) return ran;
    if (!(*this)[kStep].unchanged()) return ::testing::AssertionFailure() << "step was written to";
    if (!(*this)[kGrad].unchanged()) return ::testing::AssertionFailure() << "memory of grad was written to";
    for (int k = kVar; k < kStep; ++k) {
      if (!(*this)[k].gaps_intact())
        return ::testing::AssertionFailure() << "bytes around " << kEmaNames[k] << " changed";
    }
    return same_bits(bits(), wanted);
  }

  static ::testing::AssertionResult same_bits(const Bits& got, const Bits& wanted) {
    for (size_t k = 0; k < kStep; ++k) {
      if (got[k].size() != wanted[k].size())
        return ::testing::AssertionFailure() << kEmaNames[k] << ": sizes differ";
      for (size_t i = 0; i < got[k].size(); ++i) {
        if (got[k][i] == wanted[k][i]) continue;
        return ::testing::AssertionFailure() << kEmaNames[k] << "[" << i << "] of " << got[k].size() << " is "
                                             << std::hex << got[k][i] << ", must be " << wanted[k][i];
      }
    }
    return ::testing::AssertionSuccess();
  }

 private:
  std::vector<HostTensor> tensors_;
};

}  // namespace openaclnn_test
