// Mappings: blocks of 2 MiB and more, each mapped alone; freed ones are kept for the next block of about the same size.
#pragma once

#include <map>

#include "cpu/pages.h"

namespace openaclnn::cpu {

// What is mapped for a block of `bytes`: whole huge pages where that wastes at most an eighth, whole pages otherwise.
size_t mapping_bytes(size_t bytes);

// Every function is called under the pool's lock. Those that may throw std::bad_alloc have changed nothing then.
class Mappings {
 public:
  // A kept mapping that is at most an eighth larger than `bytes`; nullptr when there is none.
  void* take(size_t bytes) noexcept;
  void put_back(void* begin) noexcept;
  // Another mapping, kept for the next take(). May throw.
  void add(char* begin, size_t bytes);

  size_t kept_bytes() const { return kept_bytes_; }
  // The longest kept mapping, which nobody gets any more. Empty when there is none.
  Pages begin_return() noexcept;
  // The mapping was emptied. Returns what is to be unmapped: all of it.
  Pages end_return(const Pages& pages) noexcept;
  // All begin_return() without end_return() are void: a forked child lacks the threads that made them.
  void cancel_returns() noexcept;

 private:
  using BySize = std::multimap<size_t, char*>;
  // Of every mapping: its node of the others while it is in use, so that freeing never allocates.
  std::map<void*, BySize::node_type> places_;
  BySize kept_;
  BySize returning_;
  size_t kept_bytes_ = 0;
};

}  // namespace openaclnn::cpu
