// Memory where kernels write what they found wrong, and where the host reads it after the task: one slot for each task under way.
// It lies on the host. A kernel's writes are there once CUDA reports the kernel, or an event behind it, as done, so kernels need no
// fence of their own; nobody looks earlier.
#pragma once

#include <mutex>
#include <vector>

#include "cuda/driver.h"

namespace openaclnn::cuda {

class FaultSlots {
 public:
  explicit FaultSlots(Driver& driver) : driver_(driver) {}

  // A slot without a fault.
  Fault* take();
  void give_back(Fault* slot) noexcept;

 private:
  Driver& driver_;
  std::mutex mutex_;
  std::vector<Fault*> idle_;  // capacity for all slots that exist, so that giving back never allocates
  size_t slots_ = 0;
};

}  // namespace openaclnn::cuda
