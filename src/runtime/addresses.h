// Checks the addresses that phase 2 receives, for single tensors and tensors of lists.
#pragma once

#include <array>

#include "base/kernel_io.h"
#include "base/status.h"
#include "runtime/call.h"
#include "runtime/device.h"

namespace openaclnn {

// The addresses that one phase 2 found in an executor.
struct CallAddresses {
  const std::array<void*, kMaxParameters>& tensors;  // in the order of the parameters
  const ListIo* lists;                               // nullptr if the call has no list elements
  void* workspace;
};

// Checks in this order: no accessed tensor is NULL, each is aligned to its elements, no output provably
// overlaps another tensor, no tensor provably overlaps the workspace, and no output at all. If `strict`, also
// checks that all tensors are inside blocks of this library. Lists that passed once are not checked again
// unless the workspace may have changed.
Status check_addresses(const Call& call, const CallAddresses& addresses, bool strict);

}  // namespace openaclnn
