// Memory for the sums of one chunk of a kernel. It isn't on the stack, because threads of applications may have stacks of 64 KiB.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

namespace openaclnn::cpu {

// Every queue has a block for the thread that drains it, and every worker of the pool has one. So kernels find one wherever they run
// and allocate nothing.
struct alignas(64) Scratch {
  static constexpr size_t kBytes = size_t{128} << 10;
  std::byte bytes[kBytes];  // uninitialised: pages that no kernel writes to take no memory
};

// Keeps a few blocks for their next owners: programs make and destroy streams faster than the system maps memory.
struct ReturnScratch {
  void operator()(Scratch* scratch) const noexcept;
};
using OwnedScratch = std::unique_ptr<Scratch, ReturnScratch>;

// Throws std::bad_alloc.
OwnedScratch make_scratch();

// Makes `scratch` the block of the calling thread, until the end of the scope.
class ScopedScratch {
 public:
  explicit ScopedScratch(Scratch& scratch) : before_(current_) { current_ = &scratch; }
  ~ScopedScratch() { current_ = before_; }
  ScopedScratch(const ScopedScratch&) = delete;
  ScopedScratch& operator=(const ScopedScratch&) = delete;

 private:
  friend void* thread_scratch();
  static thread_local constinit Scratch* current_;
  Scratch* const before_;
};

// The block of the calling thread. Requires a ScopedScratch, which threads that run kernels have. The attribute lets compilers keep what
// they have loaded across stores into the block: while a chunk runs, nothing else points there.
[[gnu::malloc]] void* thread_scratch();

// The same as a T with unknown contents. A chunk has one at a time.
template <class T>
T& scratch_as() {
  static_assert(sizeof(T) <= Scratch::kBytes && alignof(T) <= alignof(Scratch));
  static_assert(std::is_trivially_default_constructible_v<T> && std::is_trivially_destructible_v<T>);
  return *new (thread_scratch()) T;
}

}  // namespace openaclnn::cpu
