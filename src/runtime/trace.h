// The trace of OPENACLNN_TRACE: a file of events that Chrome's about:tracing and Perfetto show.
#pragma once

#include <functional>

#include "base/json.h"
#include "runtime/device.h"

namespace openaclnn {

// Opens the file; false when it is off or cannot be opened, which is said once.
bool open_trace();
bool is_tracing();

// Adds one complete event. `arguments` adds fields to the object "args". Of a forked child nothing is kept.
void trace_event(const std::string& name, const char* category, Clock::time_point begin,
                 Clock::time_point end, const std::function<void(Json&)>& arguments);

}  // namespace openaclnn
