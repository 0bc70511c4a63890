// Memory of one kind (the device's or pinned) that was freed: kept until the tasks that use it are done, then for the next allocation.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/queue.h"

namespace openaclnn::cuda {

// Points that all have to be reached.
using Fence = std::vector<FencePoint>;

class BlockCache {
 public:
  BlockCache(Driver& driver, MemorySpace space) : driver_(driver), space_(space) {}

  // nullptr when there is no memory. May wait for blocks that are still in use before it says so.
  void* allocate(size_t bytes);
  // `bytes` as asked for. Throws std::bad_alloc and nothing else, and has changed nothing then.
  void put(void* address, size_t bytes, Fence fence);
  // Everything that no task uses any more goes back to the driver.
  void free_unused();
  // Back to the driver at once, which may wait for all work of the device.
  void free_now(void* address) noexcept;

  size_t idle_bytes();

 private:
  struct Waiting {
    void* address;
    size_t bytes;
    Fence fence;
  };
  struct Idle {
    void* address;
    uint64_t since;  // counted, for the oldest goes first
  };

  void* take(size_t bytes);
  void* ask_driver(size_t bytes);
  void* reap_and_take(size_t bytes);
  void reap();
  void wait_for_waiting();
  void free_idle();
  void free_oldest_idle();

  Driver& driver_;
  const MemorySpace space_;
  std::mutex mutex_;
  std::list<Waiting> waiting_;
  std::multimap<size_t, Idle> idle_;  // by size
  size_t idle_bytes_ = 0;
  uint64_t became_idle_ = 0;
};

}  // namespace openaclnn::cuda
