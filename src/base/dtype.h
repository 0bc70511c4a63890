// The single table of data types: their names and bytes per element.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "acl/acl_base.h"

namespace openaclnn {

struct DtypeInfo {
  aclDataType dtype;
  const char* name;        // "ACL_FLOAT"
  const char* array_name;  // of NumPy and PyTorch: "float32"; nullptr: .npy files cannot hold the type
  size_t size_bytes;       // 0: not a fixed whole number of bytes (sub-byte types, strings)
};

// nullptr when the value is not a member of aclDataType.
const DtypeInfo* find_dtype(aclDataType dtype);

// The sizes by value: row k belongs to ACL_DT_UNDEFINED + k. dtype.cc derives them from the table of types.
inline constexpr size_t kDtypeValues = 64;
extern const std::array<uint8_t, kDtypeValues> kDtypeSizes;

// The row of a value; at least kDtypeValues for most values outside the enum.
constexpr size_t dtype_row(aclDataType dtype) {
  return static_cast<size_t>(static_cast<int64_t>(dtype) - ACL_DT_UNDEFINED);
}

// Bytes per element, 0 for unknown types.
inline size_t dtype_size(aclDataType dtype) {
  const size_t row = dtype_row(dtype);
  return row < kDtypeValues ? kDtypeSizes[row] : 0;
}

// The name in NumPy and PyTorch: "float32"; nullptr for types that .npy files cannot hold.
const char* array_dtype_name(aclDataType dtype);

// "ACL_FLOAT", or "1234 (not an aclDataType)" for a value outside the enum.
std::string dtype_name(aclDataType dtype);

}  // namespace openaclnn
