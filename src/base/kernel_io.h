// The interface between the runtime and CPU kernels: what a kernel receives and what it returns.
#pragma once

#include <array>

#include "base/check_mode.h"
#include "base/fault.h"

namespace openaclnn {

inline constexpr int kMaxParameters = 12;

// The inputs of a kernel in addition to its plan.
struct TaskIo {
  // Tensor addresses, in the order of the operator's parameters.
  const std::array<void*, kMaxParameters>& data;
  void* workspace;
  CheckMode check;
  void* const* elements = nullptr;  // tensor addresses of all list parameters, list by list
};

// A kernel: reads its immutable plan, accesses tensors, and returns the faults in their contents.
using RunFunction = Fault (*)(const void* plan, const TaskIo& io);

}  // namespace openaclnn
