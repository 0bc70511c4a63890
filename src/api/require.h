// Argument checks that all runtime functions share.
#pragma once

#include <string>

#include "acl/acl_base.h"
#include "base/status.h"

namespace openaclnn {

// Fails (100000) on a NULL argument.
inline Status require_pointer(const char* name, const void* pointer) {
  if (pointer != nullptr) return {};
  return {ACL_ERROR_INVALID_PARAM, std::string(name) + " is NULL; a valid address or handle is required"};
}

// Writes a result to the caller's variable.
template <class T, class Out>
Status deliver(Result<T> result, Out* out) {
  if (!result.ok()) return result.status();
  *out = static_cast<Out>(*result);
  return {};
}

}  // namespace openaclnn
