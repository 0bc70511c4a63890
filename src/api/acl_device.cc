// Implements acl* and aclrt*: initialisation, devices, contexts and the thread's error state.

#include "acl/acl.h"
#include "api/require.h"
#include "base/env.h"
#include "base/text.h"
#include "runtime/context.h"
#include "runtime/device.h"
#include "runtime/error_text.h"
#include "runtime/guard.h"
#include "runtime/process.h"
#include "runtime/synchronize.h"

using namespace openaclnn;

aclError aclInit(const char* configPath) {
  return runtime_guard(__func__, [&] { return initialise(configPath); });
}

aclError aclFinalize(void) {
  return runtime_guard(__func__, [] { return finalize(); });
}

aclError aclFinalizeReference(uint64_t* refCount) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("refCount", refCount));
    return finalize_reference(refCount);
  });
}

aclError aclrtSetDevice(int32_t deviceId) {
  return runtime_guard(__func__, [&] { return set_device(deviceId); });
}

aclError aclrtResetDevice(int32_t deviceId) {
  return runtime_guard(__func__, [&] { return reset_device(deviceId, false); });
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
  return runtime_guard(__func__, [&] { return reset_device(deviceId, true); });
}

aclError aclrtGetDevice(int32_t* deviceId) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("deviceId", deviceId));
    OPENACLNN_TRY_ASSIGN(current, current_context());
    *deviceId = current.context->device;
    return {};
  });
}

aclError aclrtGetDeviceCount(uint32_t* count) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("count", count));
    OPENACLNN_TRY(require_usable_platform());
    *count = static_cast<uint32_t>(platform().devices.size());
    return {};
  });
}

aclError aclrtGetRunMode(aclrtRunMode* runMode) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("runMode", runMode));
    *runMode = ACL_HOST;
    return {};
  });
}

aclError aclrtSynchronizeDevice(void) {
  return runtime_guard(__func__, [&] { return synchronize_device("aclrtSynchronizeDevice", std::nullopt); });
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY_ASSIGN(deadline, deadline_after(timeout));
    return synchronize_device("aclrtSynchronizeDeviceWithTimeout", deadline);
  });
}

const char* aclrtGetSocName(void) {
  try {
    return environment().soc_name.c_str();
  } catch (const std::bad_alloc&) {
    return kDefaultSocName;  // the first call reads the environment
  }
}

aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("majorVersion", majorVersion));
    OPENACLNN_TRY(require_pointer("minorVersion", minorVersion));
    OPENACLNN_TRY(require_pointer("patchVersion", patchVersion));
    *majorVersion = ACL_MAJOR_VERSION;
    *minorVersion = ACL_MINOR_VERSION;
    *patchVersion = ACL_PATCH_VERSION;
    return {};
  });
}

aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId, int32_t peerDeviceId) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("canAccessPeer", canAccessPeer));
    OPENACLNN_TRY(require_device(deviceId));
    OPENACLNN_TRY(require_device(peerDeviceId));
    Device& device = device_at(deviceId);
    *canAccessPeer = deviceId == peerDeviceId || device.can_access_peer(peerDeviceId) ? 1 : 0;
    return {};
  });
}

aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags) {
  return runtime_guard(__func__, [&]() -> Status {
    (void)flags;  // reserved by the interface
    OPENACLNN_TRY(require_device(peerDeviceId));
    Result<CurrentContext> current = current_context();
    const int device = current.ok() ? current->context->device : 0;
    if (device == peerDeviceId) return {};
    Device& from = device_at(device);
    if (!from.can_access_peer(peerDeviceId)) {
      return {ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
              text("device ", device, " cannot reach the memory of device ", peerDeviceId)};
    }
    from.enable_peer_access(peerDeviceId);
    return {};
  });
}

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("context", context));
    return deliver(create_context(deviceId), context);
  });
}

aclError aclrtDestroyContext(aclrtContext context) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("context", context));
    return destroy_context(context);
  });
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("context", context));
    return set_current_context(context);
  });
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("context", context));
    OPENACLNN_TRY_ASSIGN(current, current_context());
    *context = current.handle;
    return {};
  });
}

aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* stream) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("stream", stream));
    OPENACLNN_TRY_ASSIGN(current, current_context());
    *stream = current.context->default_stream;
    return {};
  });
}

const char* aclGetRecentErrMsg(void) { return take_error_text(); }

namespace {

Status require_thread_level(aclrtLastErrLevel level) {
  if (level == ACL_RT_THREAD_LEVEL) return {};
  return {ACL_ERROR_INVALID_PARAM,
          text("level is ", static_cast<int>(level), "; it must be ACL_RT_THREAD_LEVEL (0)")};
}

}  // namespace

aclError aclrtGetLastError(aclrtLastErrLevel level) {
  const int refused = runtime_guard(__func__, [&] { return require_thread_level(level); });
  if (refused != 0) return refused;
  return std::exchange(last_runtime_error(), 0);
}

aclError aclrtPeekAtLastError(aclrtLastErrLevel level) {
  const int refused = runtime_guard(__func__, [&] { return require_thread_level(level); });
  return refused != 0 ? refused : last_runtime_error();
}
