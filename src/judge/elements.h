// Walks over the elements of pairs in tiles, so that memory stays bounded.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "judge/rules.h"

namespace openaclnn_judge {

// Calls visit(device, golden) for every element of two arrays of one size.
template <class Visit>
void for_each_element(const Array& device, const Array& golden, const Visit& visit) {
  constexpr int64_t kTile = 2048;
  std::array<double, kTile> devices, goldens;
  const int64_t count = device.numel();
  for (int64_t begin = 0; begin < count; begin += kTile) {
    const auto size = static_cast<size_t>(std::min(kTile, count - begin));
    device.widen(begin, {devices.data(), size});
    golden.widen(begin, {goldens.data(), size});
    for (size_t i = 0; i < size; ++i) visit(devices[i], goldens[i]);
  }
}

// Returns |d - g| of one element of two arrays of INT64 or UINT64, which doubles may not tell apart.
double integer_distance(const Array& device, const Array& golden, int64_t element);
bool has_long_integers(const Array& device, const Array& golden);

// Calls visit(device, golden, |device - golden|). The distance of integers is exact until it is rounded to DOUBLE.
template <class Visit>
void for_each_distance(const Array& device, const Array& golden, const Visit& visit) {
  const bool is_exact = has_long_integers(device, golden);
  int64_t element = 0;
  for_each_element(device, golden, [&](double d, double g) {
    visit(d, g, is_exact ? integer_distance(device, golden, element) : std::fabs(d - g));
    ++element;
  });
}

// A maximum that keeps NaN, as NumPy's does.
inline void raise_to(double& largest, double value) {
  if (std::isnan(value) || value > largest) largest = std::isnan(largest) ? largest : value;
}

// A sum with the error of its additions (Neumaier), so that means of 10^9 elements stay exact to 2^-50.
class Sum {
 public:
  void add(double value) {
    const double next = sum_ + value;
    if (std::isfinite(next))
      lost_ += std::fabs(sum_) >= std::fabs(value) ? (sum_ - next) + value : (value - next) + sum_;
    sum_ = next;
  }
  double value() const { return std::isfinite(sum_) ? sum_ + lost_ : sum_; }

 private:
  double sum_ = 0, lost_ = 0;
};

enum class Family { floating, boolean, integer, complex, other };
Family family_of(aclDataType dtype);
bool is_16_bit(aclDataType dtype);         // FLOAT16 or BF16
bool has_detail_rules(aclDataType dtype);  // FLOAT16, BF16 or FLOAT

// The number of elements whose values differ; NaN differs from everything. Exact for integers, and by bytes for
// complex numbers.
int64_t count_different(const Pair& pair);
// The number of elements whose bits differ from the golden, which is rounded to the device's dtype first.
int64_t count_different_bits(const Pair& pair);

// The golden and the arithmetic of msprobe. It raises the inputs of a golden, FLOAT16 and BF16 to FLOAT and FLOAT to
// DOUBLE, and subtracts in that precision. An exact golden (DOUBLE) of a 16-bit device is therefore rounded to FLOAT.
// A golden of another dtype is used as it is.
struct Precision {
  aclDataType cast_dtype;
  bool rounds_golden;
  bool is_single;  // differences and quotients are rounded to FLOAT
  double epsilon;  // the term of relative errors that avoids a division by zero

  Precision(aclDataType device, aclDataType golden);
  double golden(double g) const { return rounds_golden ? static_cast<double>(static_cast<float>(g)) : g; }
  double error(double d, double g) const {
    return is_single ? static_cast<double>(static_cast<float>(d) - static_cast<float>(g)) : d - g;
  }
  // The golden in the dtype of the device, which is FLOAT for BF16: msprobe raises such devices.
  double cast(double g) const;
  // A limit as msprobe compares errors with it.
  double limit(double value) const {
    return is_single ? static_cast<double>(static_cast<float>(value)) : value;
  }
  double relative(double absolute, double g) const {
    if (!is_single) return absolute / (std::fabs(g) + epsilon);
    const float below = std::fabs(static_cast<float>(g)) + static_cast<float>(epsilon);
    return static_cast<double>(static_cast<float>(absolute) / below);
  }
};

}  // namespace openaclnn_judge
