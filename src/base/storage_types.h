// From the dtype in a plan to the storage type that a kernel is compiled for.
#pragma once

#include <cstdint>

#include "acl/acl_base.h"
#include "base/float16.h"
#include "base/inline.h"

namespace openaclnn {

// visit(T()) with the storage type of FLOAT, FLOAT16 or BF16; phase 1 has refused all others.
template <class Visit>
OPENACLNN_HOST_INLINE auto with_float_type(aclDataType dtype, const Visit& visit) {
  switch (dtype) {
    case ACL_FLOAT: return visit(float());
    case ACL_FLOAT16: return visit(Float16());
    default: return visit(Bfloat16());
  }
}

// One byte, nonzero means 1.
struct BoolByte {
  uint8_t byte;
};

// visit(T()) with the storage type of an index dtype.
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
    default: return visit(double());
  }
}

}  // namespace openaclnn
