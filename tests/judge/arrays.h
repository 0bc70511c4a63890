// Arrays and calls of tests, from numbers.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "judge/call.h"
#include "verify/number.h"
#include "verify/room_descriptions.h"

namespace openaclnn_test {

using openaclnn_verify::Array;
using openaclnn_verify::Shape;

// The values are rounded to the dtype.
inline Array array_of(aclDataType dtype, Shape dims, const std::vector<double>& values) {
  const auto size = static_cast<size_t>(openaclnn_verify::element_bytes(dtype));
  std::vector<std::byte> bytes(values.size() * size);
  if (dtype == ACL_FLOAT) {  // encode() is slow
    for (size_t i = 0; i < values.size(); ++i) {
      const auto value = static_cast<float>(values[i]);
      std::memcpy(&bytes[i * size], &value, size);
    }
    return openaclnn_verify::owned_array(dtype, std::move(dims), std::move(bytes));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t bits = openaclnn_verify::encode(dtype, values[i]);
    std::memcpy(&bytes[i * size], &bits, size);
  }
  return openaclnn_verify::owned_array(dtype, std::move(dims), std::move(bytes));
}

inline std::vector<double> values_of(const Array& array) {
  std::vector<double> values(static_cast<size_t>(array.numel()));
  array.widen(0, values);
  return values;
}

inline openaclnn_judge::Call call_of(const char* function) {
  openaclnn_judge::Call call;
  call.label = function;
  call.description = openaclnn_verify::find_description(function);
  return call;
}

}  // namespace openaclnn_test
