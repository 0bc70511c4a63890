// The numbers in a tensor of indices for a kernel that takes them for another size.
#pragma once

#include <cstdint>
#include <cstring>

#include "verify/array.h"

namespace openaclnn_verify {

// Returns the number at this position if INT64 indices are read as INT32.
inline int64_t read_as_int32(const Array& indices, int64_t position) {
  int32_t value = 0;
  std::memcpy(&value, indices.data.get() + position * static_cast<int64_t>(sizeof value), sizeof value);
  return value;
}

}  // namespace openaclnn_verify
