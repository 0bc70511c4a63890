// Contexts: the device and the default stream of a thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>

#include "base/status.h"
#include "runtime/device.h"
#include "runtime/handle.h"

namespace openaclnn {

struct Context {
  int device = 0;
  void* default_stream = nullptr;        // a stream handle
  std::map<int, int64_t> system_params;  // aclrtCtxSetSysParamOpt; guarded by the table
  std::atomic<bool> ended{false};        // set once it has left the table and its streams are being destroyed
};

using ContextTable = HandleTable<Context, HandleKind::context>;

// Fails with the reason if the device cannot be used, or with 107001 if no device has this id.
Status require_device(int32_t device);
Device& device_of(const Context& context);

// The handle of this thread's current context, or nullptr if none was set. It may be stale: look it up before
// use.
void*& current_context_handle();

// The calling thread's context and its handle. Looking it up fails (107002) if there is none or it was
// destroyed.
struct CurrentContext {
  void* handle;
  std::shared_ptr<Context> context;
};
Result<CurrentContext> current_context();
Status set_current_context(void* context);

// The failures of a thread without a current context, and of a handle that is not a live context.
Status no_context();
Status stale_context(const void* handle);

}  // namespace openaclnn
