// Pinned host memory where kernels write faults and the host reads them after the task: one slot for each
// running task. A kernel's writes are visible once CUDA reports the kernel, or a later event, as complete.
// Kernels therefore need no fence; the host reads no earlier.
#pragma once

#include <mutex>
#include <vector>

#include "cuda/driver.h"

namespace openaclnn::cuda {

class FaultSlots {
 public:
  explicit FaultSlots(Driver& driver) : driver_(driver) {}

  // Returns a slot without a fault.
  Fault* take();
  void give_back(Fault* slot) noexcept;

 private:
  Driver& driver_;
  std::mutex mutex_;
  std::vector<Fault*> idle_;  // capacity for all existing slots, so that returning one never allocates
  size_t slots_ = 0;
};

}  // namespace openaclnn::cuda
