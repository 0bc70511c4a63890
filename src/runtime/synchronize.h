// Waiting for streams and devices.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "runtime/device.h"
#include "runtime/stream.h"

namespace openaclnn {

// Waits until the deadline at most, then returns unreported faults once (507035).
Status synchronize_stream(const Stream& stream, Deadline deadline);
Status synchronize_device(const char* function, Deadline deadline);

// The deadline that a timeout in milliseconds means: -1 is no limit, less is an error.
Result<Deadline> deadline_after(int32_t milliseconds);

}  // namespace openaclnn
