// The trace of OPENACLNN_TRACE: a file of events for Chrome's about:tracing and Perfetto.
#pragma once

#include <functional>

#include "base/json.h"
#include "runtime/device.h"

namespace openaclnn {

// Opens the file. Returns false if tracing is off or the file cannot be opened, which is reported once.
bool open_trace();
bool is_tracing();

// Adds one complete event. `arguments` adds fields to the object "args". Events of a forked child are not
// recorded.
void trace_event(const std::string& name, const char* category, Clock::time_point begin,
                 Clock::time_point end, const std::function<void(Json&)>& arguments);

}  // namespace openaclnn
