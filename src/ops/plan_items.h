// Locates the lists that follow a plan in memory.
#pragma once

namespace openaclnn {

// Returns the items that follow a plan.
template <class Item, class Plan>
const Item* plan_items(const Plan& plan) {
  return reinterpret_cast<const Item*>(&plan + 1);
}

}  // namespace openaclnn
