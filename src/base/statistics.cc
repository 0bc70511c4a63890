// Computes statistics in one pass per tensor.
#include "base/statistics.h"

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/elements.h"
#include "base/float16.h"
#include "base/storage_types.h"

namespace openaclnn {

namespace {

template <class T>
T load(const std::byte* element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

// The number that represents an element in the statistics: a double, an exact integer, or a truth value.
template <class T>
auto number_of(T x) {
  if constexpr (std::is_integral_v<T>) {
    return x;
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<double>(x);
  } else if constexpr (std::is_same_v<T, BoolByte>) {
    return x.byte != 0;
  } else if constexpr (requires { widen(x); }) {
    return static_cast<double>(widen(x));
  } else {
    return static_cast<double>(std::abs(x));
  }
}

template <class Number>
bool is_nan(Number x) {
  if constexpr (std::is_floating_point_v<Number>) return std::isnan(x);
  return false;
}

template <class Number>
void add(Json& json, const char* name, Number x) {
  if constexpr (std::is_floating_point_v<Number>) {
    json.key(name).python_float(x);
  } else {
    json.field(name, x);
  }
}

template <class T>
void add_statistics_of(Json& json, const TensorView& view) {
  using Number = decltype(number_of(T()));
  constexpr bool kIsComplex =
      std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
  constexpr bool kIsDouble = std::is_same_v<T, double> || std::is_same_v<T, std::complex<double>>;
  constexpr bool kHasMean = std::is_floating_point_v<Number> && !kIsDouble;
  bool is_first = true;
  Number highest = {}, lowest = {};
  double sum = 0, squares = 0;
  for_each_element(view, [&](const std::byte* element) {
    const Number x = number_of(load<T>(element));
    // A comparison with NaN is false, so NaN stays once it is there.
    if (is_first || x > highest || is_nan(x)) highest = x;
    if (is_first || x < lowest || is_nan(x)) lowest = x;
    is_first = false;
    if constexpr (kHasMean) {
      sum += x;
      squares += x * x;
    }
  });
  add(json, "Max", highest);
  add(json, "Min", lowest);
  if (view.rank == 0 && !std::is_same_v<Number, bool>) {
    add(json, "Mean", highest);
    add(json, "Norm", highest);
    return;
  }
  json.key("Mean");
  kHasMean ? json.python_float(sum / static_cast<double>(view.numel())) : json.null();
  json.key("Norm");
  kHasMean && !kIsComplex ? json.python_float(std::sqrt(squares)) : json.null();
}

}  // namespace

void add_statistics(Json& json, const TensorView& view) {
  if (view.is_empty()) {
    for (const char* const name : {"Max", "Min", "Mean", "Norm"}) json.key(name).null();
    return;
  }
  switch (view.dtype) {
    case ACL_FLOAT: return add_statistics_of<float>(json, view);
    case ACL_FLOAT16: return add_statistics_of<Float16>(json, view);
    case ACL_BF16: return add_statistics_of<Bfloat16>(json, view);
    case ACL_DOUBLE: return add_statistics_of<double>(json, view);
    case ACL_INT8: return add_statistics_of<int8_t>(json, view);
    case ACL_UINT8: return add_statistics_of<uint8_t>(json, view);
    case ACL_INT16: return add_statistics_of<int16_t>(json, view);
    case ACL_UINT16: return add_statistics_of<uint16_t>(json, view);
    case ACL_INT32: return add_statistics_of<int32_t>(json, view);
    case ACL_UINT32: return add_statistics_of<uint32_t>(json, view);
    case ACL_INT64: return add_statistics_of<int64_t>(json, view);
    case ACL_UINT64: return add_statistics_of<uint64_t>(json, view);
    case ACL_BOOL: return add_statistics_of<BoolByte>(json, view);
    case ACL_COMPLEX64: return add_statistics_of<std::complex<float>>(json, view);
    case ACL_COMPLEX128: return add_statistics_of<std::complex<double>>(json, view);
    default: return;
  }
}

}  // namespace openaclnn
