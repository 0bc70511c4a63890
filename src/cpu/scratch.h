// Memory for the sums of one chunk of a kernel. It is not on the stack, because application threads may have
// stacks of 64 KiB.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

namespace openaclnn::cpu {

// Every queue has a block for the thread that drains it, and every worker of the pool has one. Kernels find
// one wherever they run and allocate nothing.
struct alignas(64) Scratch {
  static constexpr size_t kBytes = size_t{128} << 10;
  std::byte bytes[kBytes];  // uninitialised: untouched pages use no memory
};

// Caches a few blocks, because programs create and destroy streams faster than the system maps memory.
struct ReturnScratch {
  void operator()(Scratch* scratch) const noexcept;
};
using OwnedScratch = std::unique_ptr<Scratch, ReturnScratch>;

// Throws std::bad_alloc.
OwnedScratch make_scratch();

// Makes `scratch` the block of the calling thread until the end of the scope.
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

// Returns the block of the calling thread. Requires a ScopedScratch, which all threads that run kernels have.
// The attribute allows compilers to keep loaded values across stores into the block, because no other pointer
// refers to it while a chunk runs.
[[gnu::malloc]] void* thread_scratch();

// Returns the block as a T with undefined contents. A chunk uses one at a time.
template <class T>
T& scratch_as() {
  static_assert(sizeof(T) <= Scratch::kBytes && alignof(T) <= alignof(Scratch));
  static_assert(std::is_trivially_default_constructible_v<T> && std::is_trivially_destructible_v<T>);
  return *new (thread_scratch()) T;
}

}  // namespace openaclnn::cpu
