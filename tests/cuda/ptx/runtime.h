// Settings of tests for the runtime that objects of nvcc call.
#pragma once

#include "cuda/ptx/machine.h"

namespace openaclnn::ptx {

// From the next kernel on; OPENACLNN_SIMT_SCHEDULE sets the first order.
void set_schedule(Schedule schedule);

// Kernels may access all memory of the process; its guard pages then detect accesses outside a tensor.
void let_kernels_touch_host_memory();

}  // namespace openaclnn::ptx
