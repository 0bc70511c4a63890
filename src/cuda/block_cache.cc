// Caches device memory: cudaMalloc and cudaFree are slow, and cudaFree waits for the whole device. Memory
// returns to the driver only when it is needed.
#include "cuda/block_cache.h"

#include <algorithm>
#include <bit>
#include <new>
#include <optional>

#include "base/env.h"
#include "base/sanitized.h"
#include "runtime/recycle.h"

namespace openaclnn::cuda {

namespace {

// Tools that detect out-of-bounds accesses, such as compute-sanitizer, must see each block with its requested
// size.
bool recycles() { return !kSanitized && !environment().guard_allocator; }

// Rounds up to four sizes per power of two, which wastes at most a quarter. Loops that request similar sizes
// reuse their blocks.
size_t rounded(size_t bytes) {
  constexpr size_t kSmallest = 512;
  if (!recycles() || bytes > PTRDIFF_MAX / 2) return bytes;
  const size_t step = std::max<size_t>(std::bit_floor(bytes | 1) / 4, kSmallest);
  return (bytes + step - 1) / step * step;
}

// One pass over all waiting blocks. It queries each queue once. If a point of a queue is not reached, its
// later points are skipped.
class Survey {
 public:
  bool is_over(FencePoint& point) {
    if (point.queue == nullptr) return true;
    Seen& seen = of(point.queue);
    try {
      if (point.event == nullptr && !resolve(point, seen)) return true;
      if (point.event == nullptr || seen.is_behind) return false;
      const EventState state = point.event->state();
      if (state == EventState::captured) point.event = nullptr;  // not informative: query the queue again
      seen.is_behind = state == EventState::ahead;
      return state == EventState::over;
    } catch (const DeviceFailure&) {
      return false;  // an error of one block must not fail the allocation of others
    }
  }

 private:
  struct Seen {
    const void* queue;
    bool is_asked = false;
    bool is_behind = false;
    std::optional<FencePoint> answer = std::nullopt;
  };

  Seen& of(const void* queue) {
    const auto found = std::ranges::find(seen_, queue, &Seen::queue);
    return found != seen_.end() ? *found : seen_.emplace_back(Seen{queue});
  }

  // Returns false if the queue has no pending work.
  static bool resolve(FencePoint& point, Seen& seen) {
    if (!seen.is_asked) seen.answer = point.to_ask->busy_until(false);
    seen.is_asked = true;
    if (seen.answer) point = *seen.answer;
    return seen.answer.has_value();
  }

  RecycledVector<Seen> seen_;
};

}  // namespace

void* BlockCache::ask_driver(size_t bytes) {
  void* address = nullptr;
  try {
    driver_.call(space_ == MemorySpace::device ? &PluginTable::allocate : &PluginTable::allocate_host, bytes,
                 &address);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  return address;
}

void BlockCache::free_now(void* address) noexcept {
  driver_.call_quietly(space_ == MemorySpace::device ? &PluginTable::free : &PluginTable::free_host, address);
}

void* BlockCache::take(size_t bytes) {
  const auto found = idle_.find(bytes);
  if (found == idle_.end()) return nullptr;
  void* const address = found->second.address;
  idle_.erase(found);
  idle_bytes_ -= bytes;
  return address;
}

// Moves blocks whose tasks are complete to the idle list.
void BlockCache::reap() {
  Survey survey;
  for (auto block = waiting_.begin(); block != waiting_.end();) {
    if (!std::ranges::all_of(block->fence, [&](FencePoint& point) { return survey.is_over(point); })) {
      ++block;
      continue;
    }
    if (!recycles()) {
      free_now(block->address);
    } else {
      idle_.emplace(block->bytes, Idle{block->address, became_idle_++});
      idle_bytes_ += block->bytes;
    }
    block = waiting_.erase(block);
  }
}

// Waits without the lock: a free must not wait for a thread that waits here.
void BlockCache::wait_for_waiting() {
  Fence points;
  {
    const std::lock_guard lock(mutex_);
    for (const Waiting& block : waiting_) points.insert(points.end(), block.fence.begin(), block.fence.end());
  }
  for (FencePoint& point : points) {
    try {
      if (point.event == nullptr) point = point.to_ask->busy_until(true).value_or(FencePoint());
      if (point.event != nullptr && point.event->state() == EventState::ahead) point.event->wait();
    } catch (const DeviceFailure&) {
      // This block stays; others may become free.
    }
  }
}

void BlockCache::free_idle() {
  std::multimap<size_t, Idle> idle;
  {
    const std::lock_guard lock(mutex_);
    idle.swap(idle_);
    idle_bytes_ = 0;
  }
  for (const auto& [bytes, block] : idle) free_now(block.address);
}

// Pinned memory is unavailable to all other programs, so only as much is kept as a loop reuses.
void BlockCache::free_oldest_idle() {
  constexpr size_t kMostIdleHostBytes = size_t{256} << 20;
  while (space_ == MemorySpace::host) {
    void* address = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (idle_bytes_ <= kMostIdleHostBytes) return;
      const auto oldest =
          std::ranges::min_element(idle_, {}, [](const auto& entry) { return entry.second.since; });
      address = oldest->second.address;
      idle_bytes_ -= oldest->first;
      idle_.erase(oldest);
    }
    free_now(address);
  }
}

// Returns a freed block of this size if one is idle now, otherwise nullptr.
void* BlockCache::reap_and_take(size_t bytes) {
  const std::lock_guard lock(mutex_);
  reap();
  return take(bytes);
}

// Holds no lock during operations that may wait.
void* BlockCache::allocate(size_t bytes) {
  driver_.require_usable();
  const size_t whole = rounded(bytes);
  if (void* const kept = reap_and_take(whole)) return kept;
  free_oldest_idle();
  if (void* const fresh = ask_driver(whole)) return fresh;
  wait_for_waiting();
  if (void* const kept = reap_and_take(whole)) return kept;
  free_idle();
  return ask_driver(whole);
}

void BlockCache::put(void* address, size_t bytes, Fence fence) {
  driver_.require_usable();
  const std::lock_guard lock(mutex_);
  waiting_.push_back({address, rounded(bytes), std::move(fence)});
  try {
    reap();
  } catch (const std::exception&) {
    // The block is in the list, and the next allocation tries again.
  }
}

void BlockCache::free_unused() {
  driver_.require_usable();
  {
    const std::lock_guard lock(mutex_);
    reap();
  }
  free_idle();
}

size_t BlockCache::idle_bytes() {
  driver_.require_usable();
  const std::lock_guard lock(mutex_);
  return idle_bytes_;
}

}  // namespace openaclnn::cuda
