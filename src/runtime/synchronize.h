// Waits for streams and devices.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "runtime/device.h"
#include "runtime/stream.h"

namespace openaclnn {

// Waits until the deadline at most, then returns each unreported fault once (507035).
Status synchronize_stream(const Stream& stream, Deadline deadline);
Status synchronize_device(const char* function, Deadline deadline);

// Converts a timeout in milliseconds to a deadline: -1 means no limit, lower values are an error.
Result<Deadline> deadline_after(int32_t milliseconds);

}  // namespace openaclnn
