// Contexts: the device and the default stream that a thread works with.
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
  std::atomic<bool> ended{false};        // no longer in the table: its streams are going
};

using ContextTable = HandleTable<Context, HandleKind::context>;

// Fails with the reason why the device cannot be used, or (107001) when there is none of this id.
Status require_device(int32_t device);
Device& device_of(const Context& context);

// Handle of this thread's current context, nullptr when none was set. It may be stale: look it up before use.
void*& current_context_handle();

// The calling thread's context and its handle; fails (107002) when it has none or it was destroyed.
struct CurrentContext {
  void* handle;
  std::shared_ptr<Context> context;
};
Result<CurrentContext> current_context();
Status set_current_context(void* context);

// The failures for a thread without a current context, and for a handle that is no context's.
Status no_context();
Status stale_context(const void* handle);

}  // namespace openaclnn
