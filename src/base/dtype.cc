// The table of data types and its lookup functions.
#include "base/dtype.h"

#include <array>
#include <cstdint>

namespace openaclnn {

namespace {

constexpr DtypeInfo kDtypes[] = {
    {ACL_DT_UNDEFINED, "ACL_DT_UNDEFINED", 0},
    {ACL_FLOAT, "ACL_FLOAT", 4},
    {ACL_FLOAT16, "ACL_FLOAT16", 2},
    {ACL_INT8, "ACL_INT8", 1},
    {ACL_INT32, "ACL_INT32", 4},
    {ACL_UINT8, "ACL_UINT8", 1},
    {ACL_INT16, "ACL_INT16", 2},
    {ACL_UINT16, "ACL_UINT16", 2},
    {ACL_UINT32, "ACL_UINT32", 4},
    {ACL_INT64, "ACL_INT64", 8},
    {ACL_UINT64, "ACL_UINT64", 8},
    {ACL_DOUBLE, "ACL_DOUBLE", 8},
    {ACL_BOOL, "ACL_BOOL", 1},
    {ACL_STRING, "ACL_STRING", 0},
    {ACL_COMPLEX64, "ACL_COMPLEX64", 8},
    {ACL_COMPLEX128, "ACL_COMPLEX128", 16},
    {ACL_BF16, "ACL_BF16", 2},
    {ACL_INT4, "ACL_INT4", 0},
    {ACL_UINT1, "ACL_UINT1", 0},
    {ACL_COMPLEX32, "ACL_COMPLEX32", 4},
    {ACL_HIFLOAT8, "ACL_HIFLOAT8", 1},
    {ACL_FLOAT8_E5M2, "ACL_FLOAT8_E5M2", 1},
    {ACL_FLOAT8_E4M3FN, "ACL_FLOAT8_E4M3FN", 1},
    {ACL_FLOAT8_E8M0, "ACL_FLOAT8_E8M0", 1},
    {ACL_FLOAT6_E3M2, "ACL_FLOAT6_E3M2", 0},
    {ACL_FLOAT6_E2M3, "ACL_FLOAT6_E2M3", 0},
    {ACL_FLOAT4_E2M1, "ACL_FLOAT4_E2M1", 0},
    {ACL_FLOAT4_E1M2, "ACL_FLOAT4_E1M2", 0},
};

// Every call looks up many sizes, so each enum value indexes its row directly. Values start at
// ACL_DT_UNDEFINED, -1.
constexpr size_t kValues = 64;
constexpr int8_t kNoRow = -1;
constexpr size_t value_index(aclDataType dtype) {
  return static_cast<size_t>(static_cast<int64_t>(dtype) - ACL_DT_UNDEFINED);
}
constexpr auto kRows = [] {
  std::array<int8_t, kValues> rows = {};
  rows.fill(kNoRow);
  int8_t row = 0;
  for (const DtypeInfo& info : kDtypes) rows[value_index(info.dtype)] = row++;
  return rows;
}();

}  // namespace

const DtypeInfo* find_dtype(aclDataType dtype) {
  const size_t index = value_index(dtype);
  return index < kValues && kRows[index] != kNoRow ? &kDtypes[kRows[index]] : nullptr;
}

size_t dtype_size(aclDataType dtype) {
  const DtypeInfo* info = find_dtype(dtype);
  return info != nullptr ? info->size_bytes : 0;
}

std::string dtype_name(aclDataType dtype) {
  const DtypeInfo* info = find_dtype(dtype);
  return info != nullptr ? info->name : "dtype " + std::to_string(static_cast<int>(dtype));
}

}  // namespace openaclnn
