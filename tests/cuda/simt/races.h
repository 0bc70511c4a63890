// Reports CUDA threads to ThreadSanitizer: each counts as a thread, and two accesses are ordered only where
// CUDA orders them. It then reports a race between two threads of a block even if the emulation's order
// happens to give the right bits.
#pragma once

#if defined(OPENACLNN_SIMT_RACES)
#include <sanitizer/tsan_interface.h>

#include <array>
#include <atomic>
#endif

namespace openaclnn::simt {

#if defined(OPENACLNN_SIMT_RACES)
inline constexpr bool kWatchesRaces = true;
#else
inline constexpr bool kWatchesRaces = false;
#endif

// A synchronisation point: events in one thread before publish() come before events in another after
// observe().
class MeetingPoint {
 public:
#if defined(OPENACLNN_SIMT_RACES)
  void publish() { __tsan_release(this); }
  void observe() { __tsan_acquire(this); }
#else
  void publish() {}
  void observe() {}
#endif
};

#if defined(OPENACLNN_SIMT_RACES)
// ThreadSanitizer's records of fibers that are gone. A new record costs it a megabyte of cleared memory, so the
// fibers of ended streams leave theirs to those of new ones. Relaxed order: taking a record orders nothing. But
// the record still knows what its ended stream has seen, so a race between these two streams is not reported.
class SpareRecords {
 public:
  static void* take() {
    for (std::atomic<void*>& spare : all_) {
      if (spare.load(std::memory_order_relaxed) == nullptr) continue;
      if (void* const record = spare.exchange(nullptr, std::memory_order_relaxed)) return record;
    }
    return __tsan_create_fiber(0);
  }
  static void give(void* record) {
    for (std::atomic<void*>& spare : all_) {
      void* none = nullptr;
      if (spare.compare_exchange_strong(none, record, std::memory_order_relaxed)) return;
    }
    __tsan_destroy_fiber(record);
  }

 private:
  static inline std::array<std::atomic<void*>, 1024> all_ = {};
};
#endif

// ThreadSanitizer's record of a fiber.
class RaceContext {
 public:
#if defined(OPENACLNN_SIMT_RACES)
  RaceContext() : context_(SpareRecords::take()) {}
  ~RaceContext() { SpareRecords::give(context_); }
  RaceContext(const RaceContext&) = delete;
  RaceContext& operator=(const RaceContext&) = delete;
  // These calls surround the switch of stacks; neither orders accesses.
  void enter() {
    callers_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(context_, __tsan_switch_to_fiber_no_sync);
  }
  void leave() { __tsan_switch_to_fiber(callers_, __tsan_switch_to_fiber_no_sync); }

 private:
  void* const context_;
  void* callers_ = nullptr;
#else
  void enter() {}
  void leave() {}
#endif
};

}  // namespace openaclnn::simt
