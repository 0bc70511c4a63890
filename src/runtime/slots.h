// Slots: a growing array whose elements never move, so that threads find one without a lock.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace openaclnn {

// Chunk 0 has kFirst elements, chunk 1 as many, and each further chunk twice as many as the one before. Never
// destroyed.
template <class T, uint64_t kMost>
class Slots {
 public:
  uint64_t size() const { return size_; }  // under the lock of the caller

  // Appends a default element under the lock of the caller. Throws std::bad_alloc.
  T& append() {
    const Place place = place_of(size_);
    std::atomic<T*>& chunk = chunks_[place.chunk];
    if (chunk.load(std::memory_order_relaxed) == nullptr)
      chunk.store(new T[place.chunk_size](), std::memory_order_release);
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

  struct Place {
    size_t chunk;
    uint64_t chunk_size;
    uint64_t element;
  };
  static Place place_of(uint64_t index) {
    const auto chunk = static_cast<size_t>(std::bit_width(index / kFirst));
    if (chunk == 0) return {0, kFirst, index};
    const uint64_t begin = kFirst << (chunk - 1);
    return {chunk, begin, index - begin};
  }

  std::array<std::atomic<T*>, std::bit_width(kMost / kFirst)> chunks_ = {};
  uint64_t size_ = 0;
};

}  // namespace openaclnn
