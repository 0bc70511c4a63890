// The source of a random case's sizes and choices: a plain generator, or a library that also shrinks failing
// cases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "verify/layout.h"
#include "verify/random.h"

namespace openaclnn_verify {

// Smaller values, and earlier list entries, are simpler: failing cases shrink towards them. An expression must not draw
// twice where C++ leaves the order open, such as in arguments: compilers would make other cases of the same seed.
class Draw {
 public:
  virtual ~Draw() = default;

  virtual int64_t between(int64_t low, int64_t high) = 0;
  virtual bool is_thorough() const = 0;  // few cases, so that they may be large
  int64_t below(int64_t limit) { return between(0, limit - 1); }
  bool chance(int one_in) { return below(one_in) == one_in - 1; }
  template <class List>
  auto pick(const List& list) {
    return list[static_cast<size_t>(below(static_cast<int64_t>(std::size(list))))];
  }
  Layout layout() { return pick(kOutputLayouts); }
  // Identifies data: each case has its own seed.
  uint64_t seed() { return static_cast<uint64_t>(between(0, INT32_MAX)); }
  // Returns `count` sizes; one in six is 0.
  std::vector<int64_t> sizes(int64_t count, int64_t most) {
    std::vector<int64_t> made(static_cast<size_t>(count));
    for (int64_t& size : made) size = chance(6) ? 0 : between(1, most);
    return made;
  }
  // Returns a shape of up to three dims with at most this many elements.
  std::vector<int64_t> shape(int64_t most_elements) {
    std::vector<int64_t> dims(static_cast<size_t>(between(0, 3)));
    for (int64_t& dim : dims) {
      dim = between(1, most_elements);
      most_elements /= dim;
    }
    return dims;
  }
};

class RandomDraw final : public Draw {
 public:
  explicit RandomDraw(Random& random) : random_(random) {}
  int64_t between(int64_t low, int64_t high) override { return random_.between(low, high); }
  bool is_thorough() const override { return true; }

 private:
  Random& random_;
};

}  // namespace openaclnn_verify
