// Slots: a growing array whose elements never move, so that threads find one without a lock.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>

namespace openaclnn {

// Chunk 0 has kFirst elements, and each further chunk twice as many as the one before. The last one has what is
// left. Never destroyed.
template <class T, uint64_t kMost>
class Slots {
 public:
  uint64_t size() const { return size_; }  // under the lock of the caller

  // Appends a default element under the lock of the caller. Throws std::bad_alloc.
  T& append() {
    const Place place = place_of(size_);
    std::atomic<T*>& chunk = chunks_[place.chunk];
    if (chunk.load(std::memory_order_relaxed) == nullptr) {
      const uint64_t begin = place.chunk_size - kFirst;
      chunk.store(allocate(std::min(place.chunk_size, kMost - begin)), std::memory_order_release);
    }
    ++size_;
    return chunk.load(std::memory_order_relaxed)[place.element];
  }

  // Returns element `index` < kMost, or nullptr if there is no memory for it yet. An element that was not
  // appended yet has its default value.
  T* find(uint64_t index) const {
    const Place place = place_of(index);
    T* const chunk = chunks_[place.chunk].load(std::memory_order_acquire);
    return chunk != nullptr ? chunk + place.element : nullptr;
  }
  T& operator[](uint64_t index) { return *find(index); }  // index < size()

 private:
  static constexpr uint64_t kFirst = 16;
  static_assert(std::has_single_bit(kMost) && kMost >= kFirst);

  // new T[] would put the number of elements before the first one. Memory checkers would then report every chunk
  // as possibly lost, because nothing points to its start.
  static T* allocate(uint64_t count) {
    static_assert(std::is_nothrow_default_constructible_v<T>);
    T* const chunk = static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{alignof(T)}));
    std::uninitialized_value_construct_n(chunk, count);
    return chunk;
  }

  struct Place {
    size_t chunk;
    uint64_t chunk_size;
    uint64_t element;
  };
  // Chunk k starts at index kFirst * (2^k - 1), so the highest bit of index + kFirst selects the chunk, and the
  // other bits are the element. A call looks up dozens of handles, and this takes no branch.
  static Place place_of(uint64_t index) {
    const uint64_t shifted = index + kFirst;
    const int highest = 63 ^ __builtin_clzll(shifted);  // one instruction; std::bit_width() also handles 0
    const uint64_t chunk_size = uint64_t{1} << highest;
    return {static_cast<size_t>(highest - std::countr_zero(kFirst)), chunk_size, shifted - chunk_size};
  }

  std::array<std::atomic<T*>, std::bit_width(kMost / kFirst)> chunks_ = {};
  uint64_t size_ = 0;
};

}  // namespace openaclnn
