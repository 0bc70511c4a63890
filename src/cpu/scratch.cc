// Finds the scratch block of the calling thread and caches unused blocks.
#include "cpu/scratch.h"

#include <atomic>

#include "base/sanitized.h"

namespace openaclnn::cpu {

namespace {

// Lock-free, because queues are also destroyed under the scheduler's lock, and fork() may happen at any time.
std::atomic<Scratch*> spare[8];

}  // namespace

void ReturnScratch::operator()(Scratch* scratch) const noexcept {
  if (!kSanitized) {
    for (std::atomic<Scratch*>& place : spare) {
      Scratch* expected = nullptr;
      if (place.load(std::memory_order_relaxed) == nullptr &&
          place.compare_exchange_strong(expected, scratch, std::memory_order_release,
                                        std::memory_order_relaxed))
        return;
    }
  }
  delete scratch;
}

OwnedScratch make_scratch() {
  for (std::atomic<Scratch*>& place : spare) {
    if (place.load(std::memory_order_relaxed) == nullptr) continue;
    if (Scratch* const kept = place.exchange(nullptr, std::memory_order_acquire)) return OwnedScratch(kept);
  }
  return OwnedScratch(new Scratch);
}

thread_local constinit Scratch* ScopedScratch::current_ = nullptr;

void* thread_scratch() { return ScopedScratch::current_->bytes; }

}  // namespace openaclnn::cpu
