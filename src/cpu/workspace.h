// Where a kernel finds the parts of its workspace that the plan laid out, whatever the workspace's own alignment.
#pragma once

#include <cstdint>

#include "runtime/device.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

template <class T>
inline T* workspace_part(const TaskIo& io, int64_t offset) {
  constexpr uintptr_t kCacheLineBytes = 64;
  const uintptr_t base =
      (reinterpret_cast<uintptr_t>(io.workspace) + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
  return reinterpret_cast<T*>(base + static_cast<uintptr_t>(offset));
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
