// Vectors for large results. Their memory comes as zeros from the system, and threads that write it first get its pages.
#pragma once

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace openaclnn_verify {

// Throws std::bad_alloc if there is no memory. Blocks from 4 MiB on use large pages where the system has them.
void* allocate_zeros(size_t bytes);
void free_zeros(void* memory, size_t bytes) noexcept;

// Elements without a given value stay as they are in memory: zeros in a vector that is resized once.
template <class T>
struct ZeroedMemory {
  using value_type = T;

  ZeroedMemory() = default;
  template <class Other>
  ZeroedMemory(const ZeroedMemory<Other>&) noexcept {}

  T* allocate(size_t count) {
    if (count > static_cast<size_t>(-1) / 2 / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(allocate_zeros(count * sizeof(T)));
  }
  void deallocate(T* memory, size_t count) noexcept { free_zeros(memory, count * sizeof(T)); }

  template <class Element>
  void construct(Element*) noexcept {}
  template <class Element, class... Values>
  void construct(Element* at, Values&&... values) {
    ::new (static_cast<void*>(at)) Element(std::forward<Values>(values)...);
  }

  bool operator==(const ZeroedMemory&) const = default;
};

using ZeroedDoubles = std::vector<double, ZeroedMemory<double>>;
using ZeroedBytes = std::vector<std::byte, ZeroedMemory<std::byte>>;

}  // namespace openaclnn_verify
