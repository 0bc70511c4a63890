// One call of ApplyFusedEmaAdamList in a test, and its results by the single operator: widened, computed one
// tensor at a time, and narrowed.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "ops/apply_fused_ema_adam/tests/call_cases.h"
#include "ops/apply_fused_ema_adam_list/verify/cases.h"
#include "support/case_call.h"
#include "support/expect.h"
#include "support/verify.h"
#include "verify/random.h"

namespace openaclnn_test {

inline constexpr const char* kListPhase1 = "openaclnnApplyFusedEmaAdamListGetWorkspaceSize";
inline constexpr const char* kListPhase2 = "openaclnnApplyFusedEmaAdamList";

inline HostTensor number_tensor(float value, Placement placement = Placement::ends_at_guard) {
  HostTensor tensor(ACL_FLOAT, {1}, Layout::contiguous, placement);
  tensor.set(0, static_cast<double>(value));
  return tensor;
}

struct ListNumbers {
  int64_t t = 3;
  std::optional<float> scale = {}, found_inf = {};
};

class ListCall : public CaseCall {
 public:
  ListCall(const std::vector<IndexCase>& indices, bool has_copies, const ListNumbers& numbers = {},
           Placement placement = Placement::ends_at_guard)
      : CaseCall(ema_list_case(form_of(indices.size(), has_copies, numbers), indices, "call"), placement),
        form_(form_of(indices.size(), has_copies, numbers)),
        numbers_(numbers) {
    tensors_[form_.step()] = step_tensor(numbers.t, placement);
    if (numbers.scale) tensors_[form_.scale()] = number_tensor(*numbers.scale, placement);
    if (numbers.found_inf) tensors_[form_.found_inf()] = number_tensor(*numbers.found_inf, placement);
  }

  const ListForm& form() const { return form_; }
  HostTensor& operator()(size_t list, size_t index) { return tensors_[form_.at(list, index)]; }
  const HostTensor& operator()(size_t list, size_t index) const { return tensors_[form_.at(list, index)]; }

  void fill_ordinary(Random& random) {
    for_each_element([&](size_t list, HostTensor& tensor, int64_t i) {
      tensor.set(i, list == kV ? random.magnitude(-12, 3) : random.signed_magnitude(-12, 3));
    });
  }
  void fill_anything(Random& random) {
    for (size_t k = 0; k < form_.length * kCopy; ++k) fill_with_anything(tensors_[k], random);
  }

  Outcome run(const EmaAttributes& attributes, const RunOptions& options = {}) const {
    ListForm form = form_;
    form.attributes = attributes;
    Case with_attributes = case_;
    with_attributes.phase1 = ema_list_phase1(form);
    return run_case(with_attributes, tensors_, options);
  }

  // Returns the bits of every list and index, from calls of the single operator on contiguous tensors.
  using Bits = std::vector<std::vector<uint64_t>>;
  Bits expected(const EmaAttributes& attributes) const {
    Bits all = bits();
    for (size_t n = 0; n < form_.length; ++n) {
      const aclDataType dtype = (*this)(kGrad, n).dtype();
      bool is_uniform = !form_.has_scale;
      for (size_t k = kVar; k < kCopy; ++k) is_uniform = is_uniform && (*this)(k, n).dtype() == dtype;
      EmaCall single(is_uniform ? dtype : ACL_FLOAT, (*this)(kGrad, n).dims(), numbers_.t);
      for (size_t k = 0; k < kCopy; ++k) {
        HostTensor& to = single[static_cast<int>(k)];
        for (int64_t i = 0; i < to.numel(); ++i) {
          const double value = (*this)(k, n).get(i);
          const bool divides = k == kGrad && form_.has_scale;
          to.set(i, divides ? static_cast<double>(static_cast<float>(value) / *numbers_.scale) : value);
        }
      }
      EXPECT_TRUE(succeeded(single.run(attributes)));
      for (size_t k = kVar; k < form_.lists(); ++k) {
        const HostTensor& from = single[static_cast<int>(k == kCopy ? size_t{kVar} : k)];
        for (int64_t i = 0; i < from.numel(); ++i)
          all[form_.at(k, n)][static_cast<size_t>(i)] = encode((*this)(k, n).dtype(), from.get(i));
      }
    }
    return all;
  }

  Bits bits() const {
    Bits all;
    for (size_t k = 0; k < form_.lists() * form_.length; ++k) all.push_back(tensors_[k].all_bits());
    return all;
  }

  // Runs the call and compares everything: outcome, bits of all tensors, untouched inputs and gaps.
  ::testing::AssertionResult run_and_compare(const EmaAttributes& attributes,
                                             const RunOptions& options = {}) {
    const Bits wanted = expected(attributes);
    remember();
    if (auto ran = succeeded(run(attributes, options)); !ran) return ran;
    if (auto intact = memory_intact(); !intact) return intact;
    return has_all_bits(wanted);
  }

  ::testing::AssertionResult has_all_bits(const Bits& wanted) const {
    for (size_t k = 0; k < wanted.size(); ++k) {
      if (auto same = has_bits(k, wanted[k]); !same) return same;
    }
    return ::testing::AssertionSuccess();
  }

 private:
  static ListForm form_of(size_t length, bool has_copies, const ListNumbers& numbers) {
    ListForm form;
    form.length = length;
    form.has_copies = has_copies;
    form.has_scale = numbers.scale.has_value();
    form.has_found_inf = numbers.found_inf.has_value();
    return form;
  }

  template <class Visit>
  void for_each_element(const Visit& visit) {
    for (size_t list = 0; list < kCopy; ++list) {
      for (size_t n = 0; n < form_.length; ++n) {
        HostTensor& tensor = (*this)(list, n);
        for (int64_t i = 0; i < tensor.numel(); ++i) visit(list, tensor, i);
      }
    }
  }

  ListForm form_;
  ListNumbers numbers_;
};

}  // namespace openaclnn_test
