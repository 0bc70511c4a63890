// Locates the parts of a workspace that the plan laid out, for any alignment of the workspace.
#pragma once

#include <cstdint>

#include "base/inline.h"

namespace openaclnn {

// Io: what the device passes to its kernels, with the address of the workspace.
template <class T, class Io>
OPENACLNN_HOST_INLINE T* workspace_part(const Io& io, int64_t offset) {
  constexpr uintptr_t kCacheLineBytes = 64;
  const uintptr_t base =
      (reinterpret_cast<uintptr_t>(io.workspace) + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
  return reinterpret_cast<T*>(base + static_cast<uintptr_t>(offset));
}

}  // namespace openaclnn
