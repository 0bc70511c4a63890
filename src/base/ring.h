// Ring: a FIFO in one block of memory that grows and never shrinks, so a queue in steady use allocates
// nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace openaclnn {

// Appending may move all elements. Removing moves none.
template <class T>
class Ring {
  static_assert(std::is_nothrow_move_constructible_v<T>);

 public:
  Ring() = default;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() {
    clear();
    std::allocator<T>().deallocate(slots_, capacity_);
  }

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  // k counts from the front.
  T& operator[](size_t k) { return slots_[slot(k)]; }
  const T& operator[](size_t k) const { return slots_[slot(k)]; }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[size_ - 1]; }

  // Throws std::bad_alloc and leaves the ring and `element` unchanged.
  void push_back(T&& element) {
    if (size_ == capacity_) grow();
    std::construct_at(slots_ + slot(size_), std::move(element));
    ++size_;
  }
  void pop_front() {
    std::destroy_at(&front());
    first_ = slot(1);
    --size_;
  }
  void pop_back() {
    std::destroy_at(&back());
    --size_;
  }
  void clear() {
    while (!empty()) pop_front();
  }

 private:
  size_t slot(size_t k) const { return (first_ + k) & (capacity_ - 1); }

  void grow() {
    const size_t capacity = capacity_ > 0 ? 2 * capacity_ : 4;
    T* const slots = std::allocator<T>().allocate(capacity);
    for (size_t k = 0; k < size_; ++k) {
      std::construct_at(slots + k, std::move((*this)[k]));
      std::destroy_at(&(*this)[k]);
    }
    std::allocator<T>().deallocate(slots_, capacity_);
    slots_ = slots;
    capacity_ = capacity;
    first_ = 0;
  }

  T* slots_ = nullptr;
  size_t capacity_ = 0;  // a power of two, or 0
  size_t first_ = 0;     // slot of the front element
  size_t size_ = 0;
};

}  // namespace openaclnn
