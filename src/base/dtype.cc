// The table of data types and its lookup functions.
#include "base/dtype.h"

#include <array>
#include <cstdint>

namespace openaclnn {

namespace {

constexpr DtypeInfo kDtypes[] = {
    {ACL_DT_UNDEFINED, "ACL_DT_UNDEFINED", nullptr, 0},
    {ACL_FLOAT, "ACL_FLOAT", "float32", 4},
    {ACL_FLOAT16, "ACL_FLOAT16", "float16", 2},
    {ACL_INT8, "ACL_INT8", "int8", 1},
    {ACL_INT32, "ACL_INT32", "int32", 4},
    {ACL_UINT8, "ACL_UINT8", "uint8", 1},
    {ACL_INT16, "ACL_INT16", "int16", 2},
    {ACL_UINT16, "ACL_UINT16", "uint16", 2},
    {ACL_UINT32, "ACL_UINT32", "uint32", 4},
    {ACL_INT64, "ACL_INT64", "int64", 8},
    {ACL_UINT64, "ACL_UINT64", "uint64", 8},
    {ACL_DOUBLE, "ACL_DOUBLE", "float64", 8},
    {ACL_BOOL, "ACL_BOOL", "bool", 1},
    {ACL_STRING, "ACL_STRING", nullptr, 0},
    {ACL_COMPLEX64, "ACL_COMPLEX64", "complex64", 8},
    {ACL_COMPLEX128, "ACL_COMPLEX128", "complex128", 16},
    {ACL_BF16, "ACL_BF16", "bfloat16", 2},
    {ACL_INT4, "ACL_INT4", nullptr, 0},
    {ACL_UINT1, "ACL_UINT1", nullptr, 0},
    {ACL_COMPLEX32, "ACL_COMPLEX32", nullptr, 4},
    {ACL_HIFLOAT8, "ACL_HIFLOAT8", nullptr, 1},
    {ACL_FLOAT8_E5M2, "ACL_FLOAT8_E5M2", nullptr, 1},
    {ACL_FLOAT8_E4M3FN, "ACL_FLOAT8_E4M3FN", nullptr, 1},
    {ACL_FLOAT8_E8M0, "ACL_FLOAT8_E8M0", nullptr, 1},
    {ACL_FLOAT6_E3M2, "ACL_FLOAT6_E3M2", nullptr, 0},
    {ACL_FLOAT6_E2M3, "ACL_FLOAT6_E2M3", nullptr, 0},
    {ACL_FLOAT4_E2M1, "ACL_FLOAT4_E2M1", nullptr, 0},
    {ACL_FLOAT4_E1M2, "ACL_FLOAT4_E1M2", nullptr, 0},
};

constexpr int8_t kNoEntry = -1;
constexpr auto kEntries = [] {
  std::array<int8_t, kDtypeValues> entries = {};
  entries.fill(kNoEntry);
  int8_t entry = 0;
  for (const DtypeInfo& info : kDtypes) entries[dtype_row(info.dtype)] = entry++;
  return entries;
}();

}  // namespace

constinit const std::array<uint8_t, kDtypeValues> kDtypeSizes = [] {
  std::array<uint8_t, kDtypeValues> sizes = {};
  for (const DtypeInfo& info : kDtypes) sizes[dtype_row(info.dtype)] = static_cast<uint8_t>(info.size_bytes);
  return sizes;
}();

const DtypeInfo* find_dtype(aclDataType dtype) {
  const size_t row = dtype_row(dtype);
  return row < kDtypeValues && kEntries[row] != kNoEntry ? &kDtypes[kEntries[row]] : nullptr;
}

const char* array_dtype_name(aclDataType dtype) {
  const DtypeInfo* info = find_dtype(dtype);
  return info != nullptr ? info->array_name : nullptr;
}

std::string dtype_name(aclDataType dtype) {
  const DtypeInfo* info = find_dtype(dtype);
  return info != nullptr ? info->name : std::to_string(static_cast<int>(dtype)) + " (not an aclDataType)";
}

}  // namespace openaclnn
