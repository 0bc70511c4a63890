// A cache of freed memory of one kind (device or pinned). Blocks are kept until their tasks are complete,
// then reused.
#pragma once

#include <list>
#include <map>
#include <mutex>
#include <vector>

#include "cuda/queue.h"

namespace openaclnn::cuda {

// A set of points that must all be reached.
using Fence = std::vector<FencePoint>;

class BlockCache {
 public:
  BlockCache(Driver& driver, MemorySpace space) : driver_(driver), space_(space) {}

  // Returns nullptr if memory is exhausted. May wait for blocks that are still in use first.
  void* allocate(size_t bytes);
  // `bytes` as requested. Throws only std::bad_alloc, and then has changed nothing.
  void put(void* address, size_t bytes, Fence fence);
  // Returns all memory that no task uses to the driver.
  void free_unused();
  // Returns memory to the driver at once, which may wait for all work of the device.
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
    uint64_t since;  // a counter: the oldest block is freed first
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
