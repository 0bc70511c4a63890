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
  void* const address = found->second;
  idle_.erase(found);
  return address;
}

// Blocks whose tasks are done become idle. True when there were any.
bool BlockCache::reap(bool wait) {
  bool any = false;
  for (auto block = waiting_.begin(); block != waiting_.end();) {
    if (wait) {
      for (const std::shared_ptr<DeviceEvent>& point : block->fence)
        (void)driver_.wait_for(*point, std::nullopt);
    }
    const auto is_reached = [&](const auto& point) { return driver_.is_reached(*point); };
    if (!std::ranges::all_of(block->fence, is_reached)) {
      ++block;
      continue;
    }
    any = true;
    if (kSanitized) {
      free_now(block->address);
    } else {
      idle_.emplace(block->bytes, block->address);
    }
    block = waiting_.erase(block);
  }
  return any;
}

bool BlockCache::free_idle() {
  const bool any = !idle_.empty();
  for (const auto& [bytes, address] : idle_) free_now(address);
  idle_.clear();
  return any;
}

void* BlockCache::allocate(size_t bytes) {
  driver_.require_usable();
  const size_t whole = rounded(bytes);
  const std::lock_guard lock(mutex_);
  (void)reap(false);
  if (void* const kept = take(whole)) return kept;
  if (void* const fresh = ask_driver(whole)) return fresh;
  (void)reap(true);
  (void)free_idle();
  return ask_driver(whole);
}

void BlockCache::put(void* address, size_t bytes, Fence fence) {
  driver_.require_usable();
  const std::lock_guard lock(mutex_);
  waiting_.push_back({address, rounded(bytes), std::move(fence)});
  (void)reap(false);
}

size_t BlockCache::idle_bytes() {
  driver_.require_usable();
  const std::lock_guard lock(mutex_);
  size_t sum = 0;
  for (const auto& [bytes, address] : idle_) sum += bytes;
  return sum;
}

}  // namespace openaclnn::cuda
