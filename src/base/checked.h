// Overflow-checked 64-bit arithmetic. Every size, offset and extent is computed with it before a kernel uses
// the number.
#pragma once

#include <cstdint>

namespace openaclnn {

// An int64_t that remembers whether any operation overflowed. Check ok() before value().
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

// Splits `total` >= 1 into the fewest equal parts of at most `most` and returns their size. The last part may
// be smaller.
constexpr int64_t even_part(int64_t total, int64_t most) { return ceil_div(total, ceil_div(total, most)); }

}  // namespace openaclnn
