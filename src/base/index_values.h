// Converts elements of index tensors of any dtype to integers.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/float16.h"
#include "base/inline.h"
#include "base/storage_types.h"

namespace openaclnn {

// Converts an element to an integer; returns false if it has none. Floating-point values are truncated toward
// zero. NaN, infinities and magnitudes of at least 2^63 have no integer.
template <class T>
OPENACLNN_INLINE bool index_value(T element, int64_t& value) {
  value = static_cast<int64_t>(element);
  return true;
}
OPENACLNN_INLINE bool index_value(BoolByte element, int64_t& value) {
  value = element.byte != 0 ? 1 : 0;
  return true;
}
OPENACLNN_INLINE bool index_value(double element, int64_t& value) {
  if (!(std::fabs(element) < 0x1p63)) return false;
  value = static_cast<int64_t>(element);
  return true;
}
OPENACLNN_INLINE bool index_value(float element, int64_t& value) {
  return index_value(static_cast<double>(element), value);
}
OPENACLNN_INLINE bool index_value(Float16 element, int64_t& value) {
  return index_value(static_cast<double>(widen(element)), value);
}

}  // namespace openaclnn
