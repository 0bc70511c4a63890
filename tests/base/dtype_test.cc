// Compares the dtype table with the published list: value, name, bytes per element.
#include "base/dtype.h"

#include <gtest/gtest.h>

namespace openaclnn {
namespace {

struct Row {
  int value;
  const char* name;
  size_t bytes;
};

constexpr Row kRows[] = {
    {-1, "ACL_DT_UNDEFINED", 0}, {0, "ACL_FLOAT", 4},          {1, "ACL_FLOAT16", 2},
    {2, "ACL_INT8", 1},          {3, "ACL_INT32", 4},          {4, "ACL_UINT8", 1},
    {6, "ACL_INT16", 2},         {7, "ACL_UINT16", 2},         {8, "ACL_UINT32", 4},
    {9, "ACL_INT64", 8},         {10, "ACL_UINT64", 8},        {11, "ACL_DOUBLE", 8},
    {12, "ACL_BOOL", 1},         {13, "ACL_STRING", 0},        {16, "ACL_COMPLEX64", 8},
    {17, "ACL_COMPLEX128", 16},  {27, "ACL_BF16", 2},          {29, "ACL_INT4", 0},
    {30, "ACL_UINT1", 0},        {33, "ACL_COMPLEX32", 4},     {34, "ACL_HIFLOAT8", 1},
    {35, "ACL_FLOAT8_E5M2", 1},  {36, "ACL_FLOAT8_E4M3FN", 1}, {37, "ACL_FLOAT8_E8M0", 1},
    {38, "ACL_FLOAT6_E3M2", 0},  {39, "ACL_FLOAT6_E2M3", 0},   {40, "ACL_FLOAT4_E2M1", 0},
    {41, "ACL_FLOAT4_E1M2", 0},
};

TEST(Dtype, EveryMember) {
  for (const Row& row : kRows) {
    const auto dtype = static_cast<aclDataType>(row.value);
    EXPECT_EQ(dtype_name(dtype), row.name);
    EXPECT_EQ(dtype_size(dtype), row.bytes) << row.name;
  }
}

TEST(Dtype, ValuesOutsideTheEnum) {
  for (int value : {-2, 5, 14, 15, 18, 28, 31, 42, 1000, INT32_MAX, INT32_MIN}) {
    const auto dtype = static_cast<aclDataType>(value);
    EXPECT_EQ(find_dtype(dtype), nullptr) << value;
    EXPECT_EQ(dtype_size(dtype), 0u) << value;
    EXPECT_EQ(dtype_name(dtype), std::to_string(value) + " (not an aclDataType)");
  }
}

}  // namespace
}  // namespace openaclnn
