// Lock-free initialisation of process-wide values at first use. Threads that come first together each make a
// value, and the first one that is finished is kept. A forked child therefore finds the value or none. It
// never waits for a thread that does not exist in it, as the initialisation of a function's static variable
// would.
#pragma once

#include <atomic>

namespace openaclnn {

// Returns true if `made` became the value of `slot`. Otherwise `slot` keeps its value and the caller discards
// `made`.
template <class T>
bool is_first(std::atomic<T>& slot, T made) {
  T nothing{};
  return slot.compare_exchange_strong(nothing, made, std::memory_order_acq_rel, std::memory_order_acquire);
}

}  // namespace openaclnn
