// Finds the context of a thread and checks that its device can be used.
#include "runtime/context.h"

#include "acl/acl_rt.h"
#include "base/text.h"

namespace openaclnn {

Status require_device(int32_t device) {
  OPENACLNN_TRY(require_usable_platform());
  const size_t count = platform().devices.size();
  if (count == 0) return {ACL_ERROR_RT_NO_DEVICE, platform().why_none};
  if (device >= 0 && static_cast<size_t>(device) < count) return {};
  return {ACL_ERROR_RT_INVALID_DEVICEID, text("deviceId is ", device, "; it must be in [0, ", count, ")")};
}

Device& device_of(const Context& context) { return device_at(context.device); }

void*& current_context_handle() {
  thread_local void* handle = nullptr;
  return handle;
}

Result<CurrentContext> current_context() {
  void* handle = current_context_handle();
  std::shared_ptr<Context> context = ContextTable::instance().find(handle);
  if (context == nullptr) return no_context();
  OPENACLNN_TRY(require_usable_platform());
  return CurrentContext{handle, std::move(context)};
}

Status set_current_context(void* context) {
  if (ContextTable::instance().find(context) == nullptr) return stale_context(context);
  current_context_handle() = context;
  return {};
}

Status no_context() {
  return {ACL_ERROR_RT_CONTEXT_NULL,
          current_context_handle() == nullptr
              ? "this thread has no current context; call aclrtSetDevice or aclrtSetCurrentContext first"
              : "this thread's current context was destroyed; set another one first"};
}

Status stale_context(const void* handle) {
  return {ACL_ERROR_RT_INVALID_HANDLE, text("context is not a live context (", address_text(handle),
                                            "); pass one that aclrtCreateContext returned")};
}

}  // namespace openaclnn
