// The judge of ApplyFusedEmaAdamList: the reference of ApplyFusedEmaAdam for each index, with the dtypes of that index.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "ops/apply_fused_ema_adam/verify/oracle.h"
#include "verify/case.h"

namespace openaclnn_verify {

// The lists in the order of the signature. The first five are the tensors of ApplyFusedEmaAdam in its order.
inline constexpr size_t kCopy = kStep, kMostLists = kCopy + 1;
inline constexpr std::array<const char*, kMostLists> kListNames = {"grads", "varRefs", "mRefs",
                                                                   "vRefs", "sRefs",   "varCopiesOptional"};

// One call: `length` tensors per list, list by list, then step, gradScale and foundInf if given.
struct ListForm {
  EmaAttributes attributes;
  size_t length = 0;
  bool has_copies = false, has_scale = false, has_found_inf = false;

  size_t lists() const { return has_copies ? kMostLists : kCopy; }
  size_t at(size_t list, size_t index) const { return list * length + index; }
  size_t step() const { return lists() * length; }
  size_t scale() const { return step() + 1; }
  size_t found_inf() const { return step() + (has_scale ? 2 : 1); }
  size_t tensors() const { return step() + 1 + (has_scale ? 1 : 0) + (has_found_inf ? 1 : 0); }
};

// gradScale must be a power of two, so that the division adds no error to the formula.
inline JudgeResults ema_list_judge(const ListForm& form) {
  return [form](const std::vector<HostTensor>& before, const std::vector<HostTensor>& after, Judge& judge) {
    const EmaExactReference reference(form.attributes, static_cast<int64_t>(before[form.step()].bits(0)));
    const double scale = form.has_scale ? before[form.scale()].get(0) : 1;
    for (size_t n = 0; n < form.length; ++n) {
      std::array<OutputRecord*, kMostLists> records = {};
      for (size_t k = kVar; k < form.lists(); ++k) {
        records[k] = &judge.output("ApplyFusedEmaAdamList " + std::string(kListNames[k]) + ", mode " +
                                       std::to_string(form.attributes.mode),
                                   after[form.at(k, n)].dtype());
      }
      for (int64_t i = 0; i < before[form.at(kGrad, n)].numel(); ++i) {
        EmaElement x;
        for (size_t k = 0; k < kCopy; ++k) x[k] = before[form.at(k, n)].get(i);
        x[kGrad] /= scale;
        const EmaExact exact = reference(x);
        const EmaBounds bounds = ema_adam_bounds(form.attributes.mode, static_cast<double>(exact.kappa));
        const std::array<double, kMostLists> c = {0, bounds.var, bounds.m, bounds.v, bounds.s, bounds.var};
        for (size_t k = kVar; k < form.lists(); ++k) {
          const size_t of = k == kCopy ? size_t{kVar} : k;
          if (exact.is_covered) {
            records[k]->compare(after[form.at(k, n)].get(i), exact.value[of], c[k], exact.magnitude[of]);
          } else {
            records[k]->skip();
          }
        }
      }
    }
  };
}

}  // namespace openaclnn_verify
