// One call of ApplyAdamW in a test: its tensors, their results, and the comparison with the bits of the contract.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ops/apply_adam_w/verify/cases.h"
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

class AdamWCall {
 public:
  static constexpr size_t kScalars = 7;  // of the first version

  explicit AdamWCall(const AdamWSetup& setup, const Shape& dims, Layout layout = Layout::contiguous,
                     Placement placement = Placement::ends_at_guard)
      : setup_(setup),
        case_(adam_w_case(setup, dims, layout, "call")),
        tensors_(make_tensors(case_, placement)) {}

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
        tensor.set(i, (is_positive ? 1 : random.sign()) * random.magnitude(-12, 3));
    });
  }

  // Any bits at all, with the special values often.
  void fill_anything(Random& random) {
    const double inf = std::numeric_limits<double>::infinity();
    for_each_part([&](size_t part, HostTensor& tensor) {
      const FloatFormat& format = *float_format(adam_w_dtype(setup_, part));
      const double specials[] = {0.,
                                 -0.,
                                 inf,
                                 -inf,
                                 std::nan(""),
                                 1,
                                 -1,
                                 std::ldexp(1.0, format.min_exponent),
                                 std::ldexp(-3.0, format.min_exponent - format.precision + 1),
                                 std::ldexp(1.5, format.max_exponent)};
      for (int64_t i = 0; i < tensor.numel(); ++i) {
        if (random.chance(4)) {
          tensor.set(i, specials[random.below(std::size(specials))]);
        } else if (random.chance(3)) {
          tensor.set_bits(i, random.bits());
        } else {
          tensor.set(i, random.sign() * random.magnitude(-14, 4));
        }
      }
    });
  }

  void remember() {
    for (HostTensor& tensor : tensors_) tensor.remember();
  }
  bool unchanged() const {
    for (const HostTensor& tensor : tensors_) {
      if (!tensor.unchanged()) return false;
    }
    return true;
  }
  // The same description over no memory at all.
  void forget_memory() {
    const HostTensor memory(ACL_FLOAT, {1});
    for (HostTensor& tensor : tensors_)
      tensor = HostTensor(tensor.dtype(), tensor.dims(), tensor.view(), memory, nullptr);
  }

  Outcome run(const RunOptions& options = {}) const { return run_case(case_, tensors_, options); }

  // The elements' bits in row-major order, part by part; empty for a maximum that is not there.
  using Bits = std::array<std::vector<uint64_t>, kAdamParts>;
  Bits bits() const {
    Bits all;
    for (size_t part = 0; part < kAdamParts; ++part) {
      if (adam_w_has(setup_, part)) all[part] = (*this)[part].all_bits();
    }
    return all;
  }

  // The results that the contract prescribes for the present contents.
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

  // Runs and compares everything: outcome, bits of all tensors, inputs untouched, gaps untouched.
  ::testing::AssertionResult run_and_compare(const RunOptions& options = {}) {
    const Bits wanted = expected();
    remember();
    if (auto ran = succeeded(run(options)); !ran) return ran;
    for (size_t k = 0; k < tensors_.size(); ++k) {
      const bool is_input = case_.tensors[k].role == Role::input;
      if (is_input ? !tensors_[k].unchanged() : !tensors_[k].gaps_intact())
        return ::testing::AssertionFailure() << "memory of " << case_.tensors[k].name << " changed";
    }
    const Bits got = bits();
    for (size_t part = 0; part < kAdamGrad; ++part) {
      for (size_t i = 0; i < got[part].size(); ++i) {
        if (got[part][i] == wanted[part][i]) continue;
        return ::testing::AssertionFailure() << kAdamNames[part] << "[" << i << "] is " << std::hex
                                             << got[part][i] << ", must be " << wanted[part][i];
      }
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
  Case case_;
  std::vector<HostTensor> tensors_;
};

}  // namespace openaclnn_test
