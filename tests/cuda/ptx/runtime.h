// What tests tell the runtime that objects of nvcc call.
#pragma once

#include "cuda/ptx/machine.h"

namespace openaclnn::ptx {

// From the next kernel on; OPENACLNN_SIMT_SCHEDULE says how it begins.
void set_schedule(Schedule schedule);

// Kernels may touch all memory of the process, whose guard pages then show what leaves a tensor.
void let_kernels_touch_host_memory();

}  // namespace openaclnn::ptx
