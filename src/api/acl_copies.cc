// Implements aclrt* for copies and fills.
#include <cstdint>
#include <optional>

#include "acl/acl.h"
#include "api/require.h"
#include "base/env.h"
#include "base/text.h"
#include "runtime/context.h"
#include "runtime/device.h"
#include "runtime/guard.h"
#include "runtime/memory.h"
#include "runtime/stream.h"

using namespace openaclnn;

namespace {

// Fails (107000) on sizes that no memory can have, known to the library or not. Most are negative numbers
// converted to size_t.
Status require_possible_size(const char* name, size_t bytes) {
  if (bytes <= PTRDIFF_MAX) return {};
  return {ACL_ERROR_RT_PARAM_INVALID, text(name, " is ", bytes, "; it must be at most ", PTRDIFF_MAX)};
}

Status require_places(void* dst, const void* src, aclrtMemcpyKind kind) {
  OPENACLNN_TRY(require_pointer("dst", dst));
  OPENACLNN_TRY(require_pointer("src", src));
  if (kind >= ACL_MEMCPY_HOST_TO_HOST && kind <= ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE) return {};
  return {ACL_ERROR_INVALID_PARAM, text("kind is ", static_cast<int>(kind), "; it must be in [0, 5]")};
}

// Fails (107000) if the bytes from dst and src on overlap, or exceed their memory blocks.
Status check_ranges(void* dst, const void* src, const CopyShape& shape, aclrtMemcpyKind kind) {
  const MemoryRange to = {dst, shape.destination_extent()}, from = {src, shape.source_extent()};
  if (to.meets(from)) {
    return {ACL_ERROR_RT_PARAM_INVALID,
            shape.rows == 1 ? text("dst and src overlap in the ", shape.width, " bytes of the copy")
                            : text("dst and src overlap: the rows cover ", to.bytes, " bytes of dst and ",
                                   from.bytes, " bytes of src, with the gaps between them")};
  }
  // A side that `kind` calls host, or may call host, can be any memory of the program.
  const bool to_host =
      kind == ACL_MEMCPY_HOST_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_HOST || kind == ACL_MEMCPY_DEFAULT;
  const bool from_host = kind != ACL_MEMCPY_DEVICE_TO_HOST && kind != ACL_MEMCPY_DEVICE_TO_DEVICE;
  OPENACLNN_TRY(check_range("dst", dst, to.bytes, to_host ? RangeOwner::host : RangeOwner::device));
  return check_range("src", src, from.bytes, from_host ? RangeOwner::host : RangeOwner::device);
}

// Checks the arguments of aclrtMemcpy and aclrtMemcpyAsync. The shape is empty if count is 0 or dst = src.
Result<CopyShape> check_copy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
  OPENACLNN_TRY(require_places(dst, src, kind));
  if (count > destMax) {
    return Status(ACL_ERROR_RT_PARAM_INVALID,
                  text("count is ", count, " but destMax is ", destMax, "; count must not be larger"));
  }
  OPENACLNN_TRY(require_possible_size("count", count));
  const CopyShape shape = {dst == src ? 0 : count};
  if (!shape.is_empty()) OPENACLNN_TRY(check_ranges(dst, src, shape, kind));
  return shape;
}

// Checks that rows of `width` bytes fit between the starts of rows, and into an address space.
Status require_pitch(const char* name, size_t pitch, size_t width, size_t height) {
  if (width > pitch) {
    return {ACL_ERROR_RT_PARAM_INVALID,
            text("width is ", width, " but ", name, " is ", pitch, "; width must not be larger")};
  }
  if (pitch == 0 || height <= PTRDIFF_MAX / pitch) return {};
  return {ACL_ERROR_RT_PARAM_INVALID, text(name, " is ", pitch, " and height is ", height,
                                           "; their product must be at most ", PTRDIFF_MAX)};
}

// Checks the arguments of aclrtMemcpy2d and aclrtMemcpy2dAsync.
Result<CopyShape> check_rows(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                             size_t height, aclrtMemcpyKind kind) {
  OPENACLNN_TRY(require_places(dst, src, kind));
  if (kind != ACL_MEMCPY_HOST_TO_DEVICE && kind != ACL_MEMCPY_DEVICE_TO_HOST) {
    return Status(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                  text("kind is ", static_cast<int>(kind), "; copies in two dimensions support ",
                       "ACL_MEMCPY_HOST_TO_DEVICE (1) and ACL_MEMCPY_DEVICE_TO_HOST (2)"));
  }
  OPENACLNN_TRY(require_pitch("dpitch", dpitch, width, height));
  OPENACLNN_TRY(require_pitch("spitch", spitch, width, height));
  const CopyShape shape = {width, height, dpitch, spitch};
  if (!shape.is_empty()) OPENACLNN_TRY(check_ranges(dst, src, shape, kind));
  return shape;
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

// Memory that the library did not allocate is pageable: the caller may reuse it after the call, so its
// contents are copied now. If an earlier task of the stream still has to write them, the call waits for that
// task first.
Status enqueue_copy(aclrtStream handle, void* dst, const void* src, const CopyShape& shape) {
  OPENACLNN_TRY_ASSIGN(found, find_stream(handle));
  const Stream& stream = *found;
  const bool stage = !shape.is_empty() && !is_known(src);
  if (stage && stream.queue->can_be_awaited().ok() &&
      device_at(stream.device).has_pending_write({src, shape.source_extent()}))
    (void)stream.queue->synchronize(std::nullopt);
  return submit(stream, device_at(stream.device).copy_task(dst, src, shape, stage), environment().blocking);
}

// Copies outside a stream run on the current device, or on the first device if none is current. Any device
// can access all memory that the library allocated, but the first use of a device allocates memory on it.
Status copy_now(void* dst, const void* src, const CopyShape& shape) {
  if (shape.is_empty()) return {};
  const Result<CurrentContext> current = current_context();
  if (!current.ok()) OPENACLNN_TRY(require_device(0));
  device_at(current.ok() ? current->context->device : 0).copy(dst, src, shape);
  return {};
}

}  // namespace

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY_ASSIGN(shape, check_copy(dst, destMax, src, count, kind));
    return copy_now(dst, src, shape);
  });
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY_ASSIGN(shape, check_copy(dst, destMax, src, count, kind));
    if (kind == ACL_MEMCPY_HOST_TO_HOST) {
      return {ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
              "kind is ACL_MEMCPY_HOST_TO_HOST; asynchronous copies need device memory"};
    }
    return enqueue_copy(stream, dst, src, shape);
  });
}

aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                       aclrtMemcpyKind kind) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY_ASSIGN(shape, check_rows(dst, dpitch, src, spitch, width, height, kind));
    return copy_now(dst, src, shape);
  });
}

aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                            size_t height, aclrtMemcpyKind kind, aclrtStream stream) {
  return runtime_guard(__func__, [&]() -> Status {
    constexpr size_t kMostRows = size_t{5} << 20;  // the NPU's limit
    OPENACLNN_TRY_ASSIGN(shape, check_rows(dst, dpitch, src, spitch, width, height, kind));
    if (height > kMostRows) {
      return {ACL_ERROR_RT_PARAM_INVALID, text("height is ", height, "; it must be at most ", kMostRows)};
    }
    return enqueue_copy(stream, dst, src, shape);
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
