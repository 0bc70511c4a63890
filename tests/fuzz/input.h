// The bytes of a fuzzer as a sequence of choices. After the end every choice is 0, so that every input is
// valid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>

namespace openaclnn_test {

class Input {
 public:
  Input(const uint8_t* data, size_t size) : next_(data), end_(data + size) {}

  bool is_empty() const { return next_ == end_; }
  uint8_t byte() { return is_empty() ? uint8_t{0} : *next_++; }
  int64_t below(int64_t limit) { return byte() % limit; }
  bool chance() { return (byte() & 1) != 0; }
  uint64_t bits() {
    uint64_t value = 0;
    const size_t count = static_cast<size_t>(end_ - next_) < 8 ? static_cast<size_t>(end_ - next_) : 8;
    std::memcpy(&value, next_, count);
    next_ += count;
    return value;
  }
  template <class List>
  auto pick(const List& list) -> decltype(*std::begin(list)) {
    return *(std::begin(list) + byte() % static_cast<std::ptrdiff_t>(std::size(list)));
  }
  template <class T>
  T pick(std::initializer_list<T> list) {
    return *(list.begin() + byte() % static_cast<std::ptrdiff_t>(list.size()));
  }

 private:
  const uint8_t* next_;
  const uint8_t* end_;
};

}  // namespace openaclnn_test
