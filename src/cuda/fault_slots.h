// Memory where kernels write what they found wrong, and where the host reads it after the task: one slot for each task under way.
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
  std::vector<Fault*> idle_;  // room for all slots that exist, so that giving back never allocates
  size_t slots_ = 0;
};

}  // namespace openaclnn::cuda
