// Implements aclrt* for the allocation of memory.
#include <cstdint>
#include <optional>

#include "acl/acl.h"
#include "api/require.h"
#include "base/text.h"
#include "openaclnn/openaclnn.h"
#include "runtime/context.h"
#include "runtime/device_failure.h"
#include "runtime/guard.h"
#include "runtime/memory.h"

using namespace openaclnn;

namespace {

constexpr size_t kGranule = 32;  // usable sizes are multiples of this

// Allocates on the current device. `extra` bytes are usable beyond the rounded size.
Status deliver_device_block(void** devPtr, size_t size, size_t extra) {
  OPENACLNN_TRY(require_pointer("devPtr", devPtr));
  if (size == 0) return {ACL_ERROR_INVALID_PARAM, "size is 0; it must be at least 1"};
  *devPtr = nullptr;
  OPENACLNN_TRY_ASSIGN(current, current_context());
  const size_t usable = size <= PTRDIFF_MAX ? (size + kGranule - 1) / kGranule * kGranule + extra : SIZE_MAX;
  return deliver(allocate_block(current.context->device, size, usable, MemorySpace::device), devPtr);
}

}  // namespace

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return runtime_guard(__func__, [&]() -> Status {
    (void)policy;  // hints; huge pages are used if they fit
    return deliver_device_block(devPtr, size, kGranule);
  });
}

aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return runtime_guard(__func__, [&]() -> Status {
    (void)policy;
    return deliver_device_block(devPtr, size, 0);
  });
}

aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return runtime_guard(__func__, [&]() -> Status {
    (void)policy;
    return deliver_device_block(devPtr, size, kGranule);
  });
}

aclError aclrtFree(void* devPtr) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("devPtr", devPtr));
    return free_block(devPtr, MemorySpace::device);
  });
}

aclError aclrtMallocHost(void** hostPtr, size_t size) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("hostPtr", hostPtr));
    if (size == 0) return {ACL_ERROR_INVALID_PARAM, "size is 0; it must be at least 1"};
    *hostPtr = nullptr;
    OPENACLNN_TRY(require_device(0));
    const size_t usable =
        size <= PTRDIFF_MAX ? (size + kGranule - 1) / kGranule * kGranule + kGranule : SIZE_MAX;
    return deliver(allocate_block(0, size, usable, MemorySpace::host), hostPtr);
  });
}

aclError aclrtFreeHost(void* hostPtr) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("hostPtr", hostPtr));
    return free_block(hostPtr, MemorySpace::host);
  });
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("free", free));
    OPENACLNN_TRY(require_pointer("total", total));
    if (attr < ACL_DDR_MEM || attr > ACL_MEM_P2P_HUGE1G) {
      return {ACL_ERROR_INVALID_PARAM, text("attr is ", static_cast<int>(attr), "; it must be in [0, 17]")};
    }
    OPENACLNN_TRY_ASSIGN(current, current_context());
    const std::optional<MemoryInfo> info = device_of(*current.context).memory_info();
    if (!info) {
      return {ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
              "the memory of this machine is unknown: neither /proc/meminfo nor a limit of a control group "
              "can be read"};
    }
    *free = info->free_bytes;
    *total = info->total_bytes;
    return {};
  });
}

aclError openaclnnReleaseMemory(void) {
  return runtime_guard(__func__, []() -> Status {
    OPENACLNN_TRY(require_device(0));
    std::optional<DeviceFailure> failure;
    for (Device* const device : platform().devices) {
      try {
        device->return_memory();
      } catch (const DeviceFailure& lost) {  // the other devices still return their memory
        if (!failure) failure = lost;
      }
    }
    if (failure) throw *failure;
    return {};
  });
}
