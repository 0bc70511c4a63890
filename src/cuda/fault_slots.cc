// Allocates slots from pages of pinned memory, which are never freed. Their number is that of the tasks that
// once ran concurrently.
#include "cuda/fault_slots.h"

#include <new>
#include <type_traits>

namespace openaclnn::cuda {

static_assert(std::is_trivially_copyable_v<Fault> && std::is_trivially_destructible_v<Fault>);

Fault* FaultSlots::take() {
  constexpr size_t kSlotsAtOnce = 64;
  driver_.require_usable();
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) {
    idle_.reserve(slots_ + kSlotsAtOnce);
    void* memory = nullptr;
    driver_.call(&PluginTable::allocate_host, kSlotsAtOnce * sizeof(Fault), &memory);
    for (size_t k = 0; k < kSlotsAtOnce; ++k) idle_.push_back(static_cast<Fault*>(memory) + k);
    slots_ += kSlotsAtOnce;
  }
  Fault* const slot = new (idle_.back()) Fault();
  idle_.pop_back();
  return slot;
}

void FaultSlots::give_back(Fault* slot) noexcept {
  if (!driver_.is_usable()) return;  // a forked child may have inherited the lock locked
  const std::lock_guard lock(mutex_);
  idle_.push_back(slot);
}

}  // namespace openaclnn::cuda
