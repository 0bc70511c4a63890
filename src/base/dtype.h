// The single table of data types: their public names and bytes per element.
#pragma once

#include <cstddef>
#include <string>

#include "acl/acl_base.h"

namespace openaclnn {

struct DtypeInfo {
  aclDataType dtype;
  const char* name;   // "ACL_FLOAT"
  size_t size_bytes;  // 0: not a fixed whole number of bytes (sub-byte types, strings)
};

// nullptr when the value is not a member of aclDataType.
const DtypeInfo* find_dtype(aclDataType dtype);

// Bytes per element, 0 for unknown types.
size_t dtype_size(aclDataType dtype);

// "ACL_FLOAT", or "dtype 1234" for a value outside the enum.
std::string dtype_name(aclDataType dtype);

}  // namespace openaclnn
