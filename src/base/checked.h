// Overflow-checked 64-bit arithmetic: every size, offset and extent is computed with it before a kernel trusts the number.
#pragma once

#include <cstdint>

namespace openaclnn {

// An int64_t that remembers whether any operation on the way overflowed. Use ok() before value().
class Checked {
 public:
  constexpr Checked(int64_t value) : value_(value) {}

  constexpr bool ok() const { return ok_; }
  constexpr int64_t value() const { return value_; }

  friend constexpr Checked operator+(Checked a, Checked b) {
    Checked sum(0);
    const bool overflow = __builtin_add_overflow(a.value_, b.value_, &sum.value_);
    sum.ok_ = a.ok_ && b.ok_ && !overflow;
    return sum;
  }
  friend constexpr Checked operator*(Checked a, Checked b) {
    Checked product(0);
    const bool overflow = __builtin_mul_overflow(a.value_, b.value_, &product.value_);
    product.ok_ = a.ok_ && b.ok_ && !overflow;
    return product;
  }

 private:
  int64_t value_;
  bool ok_ = true;
};

constexpr int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

// The size of each of the fewest equal parts of `total` >= 1 that are not larger than `most`; the last part may be smaller.
constexpr int64_t even_part(int64_t total, int64_t most) { return ceil_div(total, ceil_div(total, most)); }

}  // namespace openaclnn
