// Implements aclrt* for memory, copies, fills and system parameters, and the two fp16 helpers of the host.
#include <bit>
#include <cstdint>
#include <optional>

#include "acl/acl.h"
#include "api/require.h"
#include "base/dtype.h"
#include "base/float16.h"
#include "base/text.h"
#include "openaclnn/openaclnn.h"
#include "runtime/context.h"
#include "runtime/device_failure.h"
#include "runtime/guard.h"
#include "runtime/memory.h"
#include "runtime/options.h"
#include "runtime/stream.h"

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

// Fails (107000) on sizes that no memory can have, known to the library or not. Most are negative numbers
// converted to size_t.
Status require_possible_size(const char* name, size_t bytes) {
  if (bytes <= PTRDIFF_MAX) return {};
  return {ACL_ERROR_RT_PARAM_INVALID, text(name, " is ", bytes, "; it must be at most ", PTRDIFF_MAX)};
}

// Checks the arguments of aclrtMemcpy and aclrtMemcpyAsync. Sets `nothing_to_do` if count is 0 or dst = src.
Status check_copy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind,
                  bool& nothing_to_do) {
  OPENACLNN_TRY(require_pointer("dst", dst));
  OPENACLNN_TRY(require_pointer("src", src));
  if (kind < ACL_MEMCPY_HOST_TO_HOST || kind > ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE) {
    return {ACL_ERROR_INVALID_PARAM, text("kind is ", static_cast<int>(kind), "; it must be in [0, 5]")};
  }
  if (count > destMax) {
    return {ACL_ERROR_RT_PARAM_INVALID,
            text("count is ", count, " but destMax is ", destMax, "; count must not be larger")};
  }
  OPENACLNN_TRY(require_possible_size("count", count));
  nothing_to_do = count == 0 || dst == src;
  if (nothing_to_do) return {};
  const uintptr_t to = reinterpret_cast<uintptr_t>(dst);
  const uintptr_t from = reinterpret_cast<uintptr_t>(src);
  if ((to < from ? from - to : to - from) < count) {
    return {ACL_ERROR_RT_PARAM_INVALID, text("dst and src overlap in the ", count, " bytes of the copy")};
  }
  // A side that `kind` calls host, or may call host, can be any memory of the program.
  const bool to_host =
      kind == ACL_MEMCPY_HOST_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_HOST || kind == ACL_MEMCPY_DEFAULT;
  const bool from_host = kind != ACL_MEMCPY_DEVICE_TO_HOST && kind != ACL_MEMCPY_DEVICE_TO_DEVICE;
  OPENACLNN_TRY(check_range("dst", dst, count, to_host ? RangeOwner::host : RangeOwner::device));
  return check_range("src", src, count, from_host ? RangeOwner::host : RangeOwner::device);
}

Status check_fill(void* devPtr, size_t maxCount, size_t count) {
  OPENACLNN_TRY(require_pointer("devPtr", devPtr));
  if (count > maxCount) {
    return {ACL_ERROR_RT_PARAM_INVALID,
            text("count is ", count, " but maxCount is ", maxCount, "; count must not be larger")};
  }
  OPENACLNN_TRY(require_possible_size("count", count));
  return count == 0 ? Status() : check_range("devPtr", devPtr, count, RangeOwner::device);
}

// Copies outside a stream run on the current device, or on the first device if none is current. Any device
// can access all memory that the library allocated, but the first use of a device allocates memory on it.
Result<Device*> any_device() {
  if (Result<CurrentContext> current = current_context(); current.ok())
    return &device_at(current->context->device);
  OPENACLNN_TRY(require_device(0));
  return platform().devices.front();
}

// Memory that the library did not allocate is pageable: the caller may reuse it after the call, so its
// contents are copied now. If an earlier task of the stream still has to write them, the call waits for that
// task first.
Status enqueue_copy(const Stream& stream, void* dst, const void* src, size_t count) {
  const bool stage = count > 0 && !is_known(src);
  if (stage && stream.queue->can_be_awaited().ok() &&
      device_at(stream.device).has_pending_write({src, count}))
    (void)stream.queue->synchronize(std::nullopt);
  return submit(stream, device_at(stream.device).copy_task(dst, src, count, stage), environment().blocking);
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

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
  return runtime_guard(__func__, [&]() -> Status {
    bool nothing_to_do = false;
    OPENACLNN_TRY(check_copy(dst, destMax, src, count, kind, nothing_to_do));
    if (nothing_to_do) return {};
    OPENACLNN_TRY_ASSIGN(device, any_device());
    device->copy(dst, src, count);
    return {};
  });
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream) {
  return runtime_guard(__func__, [&]() -> Status {
    bool nothing_to_do = false;
    OPENACLNN_TRY(check_copy(dst, destMax, src, count, kind, nothing_to_do));
    if (kind == ACL_MEMCPY_HOST_TO_HOST) {
      return {ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
              "kind is ACL_MEMCPY_HOST_TO_HOST; asynchronous copies need device memory"};
    }
    OPENACLNN_TRY_ASSIGN(found, find_stream(stream));
    return enqueue_copy(*found, dst, src, nothing_to_do ? 0 : count);
  });
}

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(check_fill(devPtr, maxCount, count));
    OPENACLNN_TRY_ASSIGN(current, current_context());
    if (count > 0) device_of(*current.context).fill(devPtr, static_cast<uint8_t>(value), count);
    return {};
  });
}

aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(check_fill(devPtr, maxCount, count));
    OPENACLNN_TRY_ASSIGN(found, find_stream(stream));
    return submit(*found, device_at(found->device).fill_task(devPtr, static_cast<uint8_t>(value), count),
                  environment().blocking);
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

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return runtime_guard(__func__, [&] { return set_system_param(opt, value); });
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("value", value));
    return deliver(system_param(opt), value);
  });
}

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return runtime_guard(__func__, [&] { return set_context_param(opt, value); });
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("value", value));
    return deliver(context_param(opt), value);
  });
}

size_t aclDataTypeSize(aclDataType dataType) { return dtype_size(dataType); }

// These two functions match the NPU host library, which has neither infinities nor NaN: results saturate, and
// exponent 31 is an ordinary exponent. Kernels never use them.
aclFloat16 aclFloatToFloat16(float value) {
  const bool negative = (std::bit_cast<uint32_t>(value) >> 31) != 0;
  const uint16_t magnitude = narrow_f16(value).bits & 0x7FFFu;
  constexpr uint16_t kLargest = 0x7BFF;  // 65,504
  return static_cast<aclFloat16>((negative ? 0x8000u : 0u) | (magnitude > kLargest ? kLargest : magnitude));
}

float aclFloat16ToFloat(aclFloat16 value) {
  const uint32_t magnitude = value & 0x7FFFu;
  if (magnitude < 0x7C00u) return widen(Float16{value});
  const float scaled = 65536.0f * (1.0f + static_cast<float>(magnitude & 0x3FFu) / 1024.0f);
  return (value & 0x8000u) != 0 ? -scaled : scaled;
}
