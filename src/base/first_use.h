// Values of the process that are made at first use, without a lock: threads that come first together all make one, and the one
// that is done first is everybody's. So a child that was forked in between finds the value or none, and never waits for a thread
// that does not exist in it, as it would for the initialisation of a function's static variable.
#pragma once

#include <atomic>

namespace openaclnn {

// True when `made` is now the value of `slot`; else there was one already, which stays, and `made` is to be thrown away.
template <class T>
bool is_first(std::atomic<T>& slot, T made) {
  T nothing{};
  return slot.compare_exchange_strong(nothing, made, std::memory_order_acq_rel, std::memory_order_acquire);
}

}  // namespace openaclnn
