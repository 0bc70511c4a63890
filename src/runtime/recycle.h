// Memory for the small objects that every call creates and destroys: kept for the next call instead of freed.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace openaclnn {

// Returns uninitialised memory, aligned for any plain type. Throws std::bad_alloc. Small blocks come from a
// list of this thread, then from a list that all threads share, then from the heap. The lists are bounded.
// Sanitizer builds have none, so that they detect every use after free.
void* allocate_recycled(size_t bytes);
// Releases memory; `bytes` as requested. May be called from any thread, even while it ends.
void recycle(void* memory, size_t bytes) noexcept;

template <class T>
struct RecyclingAllocator {
  using value_type = T;

  RecyclingAllocator() = default;
  template <class U>
  RecyclingAllocator(const RecyclingAllocator<U>&) noexcept {}

  T* allocate(size_t count) {
    static_assert(alignof(T) <= alignof(std::max_align_t));
    if (count > PTRDIFF_MAX / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(allocate_recycled(count * sizeof(T)));
  }
  void deallocate(T* memory, size_t count) noexcept { recycle(memory, count * sizeof(T)); }

  template <class U>
  bool operator==(const RecyclingAllocator<U>&) const noexcept {
    return true;
  }
};

template <class T>
using RecycledVector = std::vector<T, RecyclingAllocator<T>>;

template <class T, class... Arguments>
std::shared_ptr<T> make_recycled(Arguments&&... arguments) {
  return std::allocate_shared<T>(RecyclingAllocator<std::remove_const_t<T>>(),
                                 std::forward<Arguments>(arguments)...);
}

}  // namespace openaclnn
