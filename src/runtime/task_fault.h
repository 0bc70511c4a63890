// Records the fault of a task, for all devices.
#pragma once

#include "runtime/device.h"
#include "runtime/fault.h"

namespace openaclnn {

// Records the fault in the cell of a caller that waits for its own task, or in the stream's cell. The former
// needs no operator name, because the error message of the caller's function starts with it. A synchronising
// call reports the latter by name.
inline void record_fault(const Task& task, uint64_t number, FaultCell& cell_of_stream,
                         DescribeFunction describe, const Fault& fault) noexcept {
  if (task.report != nullptr) {
    task.report->record(number, "", describe, fault);
  } else {
    cell_of_stream.record(number, task.name, describe, fault);
  }
}
inline void record_fault(const Task& task, uint64_t number, FaultCell& cell_of_stream,
                         const Fault& fault) noexcept {
  record_fault(task, number, cell_of_stream, task.describe, fault);
}

}  // namespace openaclnn
