// Maps the dtype in a plan to the storage type that a kernel is compiled for.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "acl/acl_base.h"
#include "base/float16.h"
#include "base/inline.h"

namespace openaclnn {

// The dtypes that kernels are compiled for. plan() rejects all others (require_kernel_for).
inline constexpr aclDataType kFloatTypes[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16};
inline constexpr aclDataType kIndexTypes[] = {ACL_FLOAT, ACL_FLOAT16, ACL_DOUBLE, ACL_INT8, ACL_UINT8,
                                              ACL_INT16, ACL_INT32,   ACL_INT64,  ACL_BOOL};

constexpr bool is_float_type(aclDataType dtype) {
  return dtype == ACL_FLOAT || dtype == ACL_FLOAT16 || dtype == ACL_BF16;
}

// Handles a dtype without a kernel in a plan, which is an internal error. The process stops: a kernel cannot
// report the error, because it neither throws nor allocates, and every result would be wrong.
[[noreturn]] OPENACLNN_HOST_INLINE void stop_at_unknown_dtype() {
  std::fputs("openaclnn: internal error: a plan has a dtype that no kernel is compiled for\n", stderr);
  std::abort();
}

// Calls visit(T()) with the storage type of a dtype in kFloatTypes.
template <class Visit>
OPENACLNN_HOST_INLINE auto with_float_type(aclDataType dtype, const Visit& visit) {
  switch (dtype) {
    case ACL_FLOAT: return visit(float());
    case ACL_FLOAT16: return visit(Float16());
    case ACL_BF16: return visit(Bfloat16());
    default: stop_at_unknown_dtype();
  }
}

// One byte; nonzero means 1.
struct BoolByte {
  uint8_t byte;
};

// Calls visit(T()) with the storage type of a dtype in kIndexTypes.
template <class Visit>
OPENACLNN_HOST_INLINE void with_index_type(aclDataType dtype, const Visit& visit) {
  switch (dtype) {
    case ACL_INT8: return visit(int8_t());
    case ACL_UINT8: return visit(uint8_t());
    case ACL_INT16: return visit(int16_t());
    case ACL_INT32: return visit(int32_t());
    case ACL_INT64: return visit(int64_t());
    case ACL_BOOL: return visit(BoolByte());
    case ACL_FLOAT16: return visit(Float16());
    case ACL_FLOAT: return visit(float());
    case ACL_DOUBLE: return visit(double());
    default: stop_at_unknown_dtype();
  }
}

}  // namespace openaclnn
