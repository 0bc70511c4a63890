// The failures of phase 2 that are about addresses, as sentences: the same for single tensors and for tensors of lists.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "base/tensor_view.h"
#include "base/text.h"
#include "openaclnn/status.h"

namespace openaclnn {

// P9
inline Status null_data(const std::string& name) {
  return {ACLNN_ERR_PARAM_NULLPTR, text(name, " has a NULL data address; set it before phase 2")};
}

// P10
inline bool is_misaligned(const void* data, int64_t element_bytes) {
  return reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(element_bytes) != 0;
}
inline Status misaligned_data(const std::string& name, const void* data, aclDataType dtype) {
  return {ACLNN_ERR_PARAM_INVALID,
          text(name, " has the data address ", address_text(data), ", which is not a multiple of ",
               dtype_size(dtype), " bytes, the size of ", dtype_name(dtype))};
}

// P11; `rule` says what is accepted.
inline Status overlapping(const std::string& name, const std::string& other, const char* rule) {
  return {ACLNN_ERR_PARAM_INVALID, text(name, " overlaps ", other, rule)};
}

// P12
inline Status outside_blocks(const std::string& name, uint64_t bytes) {
  return {ACLNN_ERR_PARAM_INVALID,
          text(name, " needs ", bytes, " bytes that do not lie inside one live block of aclrtMalloc or ",
               "aclrtMallocHost; strict mode accepts no other memory")};
}

}  // namespace openaclnn
