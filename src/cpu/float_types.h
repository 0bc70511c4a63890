// From the dtype in a plan to the storage type that a kernel is compiled for.
#pragma once

#include "acl/acl_base.h"
#include "base/float16.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

// visit(T()) with the storage type of FLOAT, FLOAT16 or BF16; phase 1 has refused all others.
template <class Visit>
inline auto with_float_type(aclDataType dtype, const Visit& visit) {
  switch (dtype) {
    case ACL_FLOAT: return visit(float());
    case ACL_FLOAT16: return visit(Float16());
    default: return visit(Bfloat16());
  }
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
