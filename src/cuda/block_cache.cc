// cudaMalloc and cudaFree take long, and cudaFree waits for the whole device: so memory goes back to the driver only when it is needed.
#include "cuda/block_cache.h"

#include <algorithm>
#include <bit>
#include <new>

#include "base/sanitized.h"

namespace openaclnn::cuda {

namespace {

// Four sizes per power of two waste at most a quarter; loops that ask for nearly the same size find their block again.
size_t rounded(size_t bytes) {
  constexpr size_t kSmallest = 512;
  if (kSanitized || bytes > PTRDIFF_MAX / 2) return bytes;
  const size_t step = std::max<size_t>(std::bit_floor(bytes | 1) / 4, kSmallest);
  return (bytes + step - 1) / step * step;
}

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

// Blocks whose tasks are done become idle.
void BlockCache::reap(bool wait) {
  for (auto block = waiting_.begin(); block != waiting_.end();) {
    for (FencePoint& point : block->fence) {
      if (point.to_ask != nullptr) point = point.to_ask->busy_until(wait).value_or(FencePoint());
      if (wait && point.event != nullptr) point.event->wait_until_over();
    }
    const auto is_over = [](const FencePoint& point) {
      return point.to_ask == nullptr && (point.event == nullptr || point.event->is_over());
    };
    if (!std::ranges::all_of(block->fence, is_over)) {
      ++block;
      continue;
    }
    if (kSanitized) {
      free_now(block->address);
    } else {
      idle_.emplace(block->bytes, Idle{block->address, became_idle_++});
      idle_bytes_ += block->bytes;
    }
    block = waiting_.erase(block);
  }
}

void BlockCache::free_idle() {
  for (const auto& [bytes, block] : idle_) free_now(block.address);
  idle_.clear();
  idle_bytes_ = 0;
}

// Pinned memory is lost for all programs of the machine, so not more of it is kept than a loop uses again.
void BlockCache::free_oldest_idle() {
  constexpr size_t kMostIdleHostBytes = size_t{256} << 20;
  while (space_ == MemorySpace::host && idle_bytes_ > kMostIdleHostBytes) {
    const auto oldest =
        std::ranges::min_element(idle_, {}, [](const auto& entry) { return entry.second.since; });
    free_now(oldest->second.address);
    idle_bytes_ -= oldest->first;
    idle_.erase(oldest);
  }
}

void* BlockCache::allocate(size_t bytes) {
  driver_.require_usable();
  const size_t whole = rounded(bytes);
  const std::lock_guard lock(mutex_);
  reap(false);
  if (void* const kept = take(whole)) return kept;
  free_oldest_idle();  // here, because it may wait and a free must not
  if (void* const fresh = ask_driver(whole)) return fresh;
  reap(true);
  free_idle();
  return ask_driver(whole);
}

void BlockCache::put(void* address, size_t bytes, Fence fence) {
  driver_.require_usable();
  const std::lock_guard lock(mutex_);
  waiting_.push_back({address, rounded(bytes), std::move(fence)});
  try {
    reap(false);
  } catch (const std::exception&) {
    // The block is noted, and the next allocation looks again.
  }
}

size_t BlockCache::idle_bytes() {
  driver_.require_usable();
  const std::lock_guard lock(mutex_);
  return idle_bytes_;
}

}  // namespace openaclnn::cuda
