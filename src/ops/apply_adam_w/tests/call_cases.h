// One call of ApplyAdamW in a test: its tensors, their results, and the comparison with the bits of the contract.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "ops/apply_adam_w/verify/cases.h"
#include "support/case_call.h"
#include "support/expect.h"
#include "support/verify.h"
#include "verify/random.h"

namespace openaclnn_test {

// Every version, mix of types, and both kinds of root.
inline std::vector<AdamWSetup> adam_w_all_setups() {
  std::vector<AdamWSetup> all;
  for (const bool amsgrad : {false, true}) {
    for (const aclDataType dtype : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}) {
      all.push_back(adam_w_setup(1, dtype, amsgrad));
      all.push_back(adam_w_setup(2, dtype, amsgrad));
      if (dtype == ACL_FLOAT) continue;
      all.push_back(adam_w_mixed_setup(dtype, amsgrad, ACL_FLOAT));
      if (amsgrad) all.push_back(adam_w_mixed_setup(dtype, true, dtype));
    }
  }
  return all;
}

inline std::string adam_w_text(const AdamWSetup& s) {
  return "version " + std::to_string(s.version) + ", " + dtype_name(s.dtype) + ", grad " +
         dtype_name(s.grad_dtype) +
         (s.amsgrad ? std::string(", amsgrad in ") + dtype_name(s.maximum_dtype) : "");
}

class AdamWCall : public CaseCall {
 public:
  static constexpr size_t kScalars = 7;  // of the first version

  explicit AdamWCall(const AdamWSetup& setup, const Shape& dims, Layout layout = Layout::contiguous,
                     Placement placement = Placement::ends_at_guard)
      : CaseCall(adam_w_case(setup, dims, layout, "call"), placement), setup_(setup) {}

  HostTensor& operator[](size_t part) { return tensors_[adam_w_position(setup_, part)]; }
  const HostTensor& operator[](size_t part) const { return tensors_[adam_w_position(setup_, part)]; }
  // The numbers of the first version; the step of the second one.
  HostTensor& number(size_t k) {
    return tensors_[setup_.version == 1 ? AdamWSetup::kScalarsAt + k : setup_.step_at()];
  }

  // Ordinary training data: every result is finite.
  void fill_ordinary(Random& random) {
    for_each_part([&](size_t part, HostTensor& tensor) {
      const bool is_positive = part == kAdamV || part == kAdamMaximum;
      for (int64_t i = 0; i < tensor.numel(); ++i)
        tensor.set(i, is_positive ? random.magnitude(-12, 3) : random.signed_magnitude(-12, 3));
    });
  }

  void fill_anything(Random& random) {
    for_each_part([&](size_t, HostTensor& tensor) { fill_with_anything(tensor, random); });
  }

  // The same description without memory.
  void forget_memory() {
    const HostTensor memory(ACL_FLOAT, {1});
    for (HostTensor& tensor : tensors_)
      tensor = HostTensor(tensor.dtype(), tensor.dims(), tensor.view(), memory, nullptr);
  }

  // The elements' bits in row-major order, part by part; empty for a missing maximum.
  using Bits = std::array<std::vector<uint64_t>, kAdamParts>;
  Bits bits() const {
    Bits all;
    for (size_t part = 0; part < kAdamParts; ++part) {
      if (adam_w_has(setup_, part)) all[part] = (*this)[part].all_bits();
    }
    return all;
  }

  // The results that the contract prescribes for the current contents.
  Bits expected() const {
    const AdamWBitsReference reference(setup_, adam_w_given(setup_, tensors_));
    Bits all = bits();
    for (size_t i = 0; i < all[kAdamVar].size(); ++i) {
      std::array<uint64_t, kAdamParts> element = {};
      for (size_t part = 0; part < kAdamParts; ++part) {
        if (adam_w_has(setup_, part)) element[part] = all[part][i];
      }
      element = reference(element);
      for (size_t part = 0; part < kAdamParts; ++part) {
        if (adam_w_has(setup_, part)) all[part][i] = element[part];
      }
    }
    return all;
  }

  // Runs the call and compares everything: outcome, bits of all tensors, untouched inputs and gaps.
  ::testing::AssertionResult run_and_compare(const RunOptions& options = {}) {
    const Bits wanted = expected();
    if (auto ran = run_cleanly(options); !ran) return ran;
    for (size_t part = 0; part < kAdamGrad; ++part) {
      if (!adam_w_has(setup_, part)) continue;
      if (auto same = has_bits(adam_w_position(setup_, part), wanted[part]); !same) return same;
    }
    return ::testing::AssertionSuccess();
  }

 private:
  template <class Visit>
  void for_each_part(const Visit& visit) {
    for (size_t part = 0; part < kAdamParts; ++part) {
      if (adam_w_has(setup_, part)) visit(part, (*this)[part]);
    }
  }

  AdamWSetup setup_;
};

}  // namespace openaclnn_test
