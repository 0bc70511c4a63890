// One call of an operator through the C API: phase 1, destroying the arguments, a guarded workspace, phase 2, synchronise.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "acl/acl.h"
#include "aclnn/aclnn_base.h"
#include "verify/host_tensor.h"

namespace openaclnn_verify {

using Handles = std::span<aclTensor* const>;
using Phase1 = std::function<aclnnStatus(Handles, uint64_t* workspace_bytes, aclOpExecutor** executor)>;
using Phase2 = aclnnStatus (*)(void* workspace, uint64_t workspace_bytes, aclOpExecutor* executor,
                               aclrtStream stream);

inline constexpr aclnnStatus kNotCalled = -1;

struct Outcome {
  aclnnStatus phase1 = kNotCalled;
  aclnnStatus phase2 = kNotCalled;
  aclError sync = kNotCalled;
  uint64_t workspace_bytes = 0;
  std::string error;  // the error messages of the thread after the last call, empty if there were none
  bool workspace_intact = true;      // no byte around the workspace has changed
  bool out_values_untouched = true;  // of a phase 1 that failed

  bool ok() const { return phase1 == 0 && phase2 == 0 && sync == 0 && error.empty() && workspace_intact; }
  std::string text() const;
};

struct RunOptions {
  aclrtStream stream = nullptr;
  Placement workspace = Placement::ends_at_guard;
};

// Makes device 0 current on this thread.
void use_device();

// `tensors` in the order of the signature; nullptr means a NULL handle.
Outcome run_operator(std::span<const HostTensor* const> tensors, const Phase1& phase1, Phase2 phase2,
                     const RunOptions& options = {});

// The steps after phase 1.
Outcome run_phase2(Phase2 phase2, aclOpExecutor* executor, uint64_t workspace_bytes,
                   const RunOptions& options = {});

// Returns and clears this thread's error messages.
std::string take_error_text();

}  // namespace openaclnn_verify
