// ApplyAdamW: maps the dtypes in a plan to the storage types that a kernel is compiled for.
#pragma once

#include <type_traits>

#include "base/storage_types.h"
#include "ops/apply_adam_w/plan.h"

namespace openaclnn {

// Calls visit(S(), G(), M()) with a combination that phase 1 accepts: all the same, or 16-bit gradients of
// FLOAT parameters and a maximum of either type.
template <class Visit>
OPENACLNN_HOST_INLINE auto with_types(const AdamWPlan& plan, const Visit& visit) {
  return with_float_type(plan.dtypes[kAdamWVar], [&](auto state) {
    const auto with_grad = [&](auto grad) {
      if (plan.dtypes[kAdamWMaximum] == plan.dtypes[kAdamWVar]) return visit(state, grad, state);
      return visit(state, grad, grad);
    };
    if constexpr (std::is_same_v<decltype(state), float>)
      return with_float_type(plan.dtypes[kAdamWGrad], with_grad);
    return with_grad(state);
  });
}

}  // namespace openaclnn
