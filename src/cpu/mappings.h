// Mappings: each block of 2 MiB or more has its own. Freed mappings are kept for later blocks of similar
// size.
#pragma once

#include <map>

#include "cpu/pages.h"

namespace openaclnn::cpu {

// Returns the size to map for a block of `bytes`: whole huge pages if that wastes at most an eighth,
// otherwise whole pages.
size_t mapping_bytes(size_t bytes);

// All functions require the pool's lock. Those that throw std::bad_alloc leave the object unchanged.
class Mappings {
 public:
  // Returns a kept mapping that is at most an eighth larger than `bytes`, or nullptr.
  void* take(size_t bytes) noexcept;
  void put_back(void* begin) noexcept;
  // Adds a mapping and keeps it for the next take(). May throw.
  void add(char* begin, size_t bytes);

  size_t kept_bytes() const { return kept_bytes_; }
  // Returns the longest kept mapping, which take() no longer uses, or an empty one.
  Pages begin_return() noexcept;
  // Ends the return of a mapping that was emptied. Returns the pages to unmap: all of it.
  Pages end_return(const Pages& pages) noexcept;
  // Cancels all begin_return() without end_return(): a forked child lacks the threads that called them.
  void cancel_returns() noexcept;

 private:
  using BySize = std::multimap<size_t, char*>;
  // For each mapping in use, its node of the other maps, so that freeing never allocates.
  std::map<void*, BySize::node_type> places_;
  BySize kept_;
  BySize returning_;
  size_t kept_bytes_ = 0;
};

}  // namespace openaclnn::cpu
