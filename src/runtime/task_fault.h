// Where the fault of a task goes: one home for all devices.
#pragma once

#include "runtime/device.h"
#include "runtime/fault.h"

namespace openaclnn {

// Into the cell of a caller that waits for its own task, which needs no name since its line of error text begins with it, or into
// the stream's cell, from which a synchronise reports it by name.
inline void record_fault(const Task& task, uint64_t number, FaultCell& cell_of_stream,
                         const Fault& fault) noexcept {
  if (task.report != nullptr) {
    task.report->record(number, "", task.describe, fault);
  } else {
    cell_of_stream.record(number, task.name, task.describe, fault);
  }
}

}  // namespace openaclnn
