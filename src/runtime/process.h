// The life cycle of the process and of contexts: initialise, set a device, finalise.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace openaclnn {

Status initialise(const char* config_path);
Status finalize();
Status finalize_reference(uint64_t* references);

Status set_device(int32_t device);
Status reset_device(int32_t device, bool force);

// Creates a context with its default stream and makes it current on this thread.
Result<void*> create_context(int32_t device);
Status destroy_context(void* context);

}  // namespace openaclnn
