// The sequence of calls that every host program makes.
#include "verify/runner.h"

#include <stdexcept>
#include <vector>

namespace openaclnn_verify {

namespace {

constexpr uint64_t kUntouchedBytes = 0xDEADBEEF12345678u;
aclOpExecutor* const kUntouchedExecutor = reinterpret_cast<aclOpExecutor*>(uintptr_t{0x5A5A5A5A});

}  // namespace

std::string Outcome::text() const {
  return "phase 1 returned " + std::to_string(phase1) + ", phase 2 " + std::to_string(phase2) +
         ", synchronise " + std::to_string(sync) + ", workspace of " + std::to_string(workspace_bytes) +
         " bytes " + (workspace_intact ? "intact" : "OVERRUN") +
         ", error text: " + (error.empty() ? "none" : error);
}

std::string take_error_text() {
  const char* text = aclGetRecentErrMsg();
  return text != nullptr ? text : "";
}

void use_device() {
  thread_local const aclError made_current = aclrtSetDevice(0);
  if (made_current != ACL_SUCCESS)
    throw std::runtime_error("aclrtSetDevice(0) returned " + std::to_string(made_current) + ": " +
                             take_error_text());
}

Outcome run_phase2(Phase2 phase2, aclOpExecutor* executor, uint64_t workspace_bytes,
                   const RunOptions& options) {
  use_device();
  Outcome outcome;
  outcome.phase1 = 0;
  outcome.workspace_bytes = workspace_bytes;
  GuardedBuffer workspace(workspace_bytes, options.workspace);
  void* const scratch = workspace_bytes > 0 ? workspace.address_for_library(workspace.data()) : nullptr;
  DeviceTwin::upload_all();
  outcome.phase2 = phase2(scratch, workspace_bytes, executor, options.stream);
  if (outcome.phase2 == 0) outcome.sync = aclrtSynchronizeStream(options.stream);
  outcome.error = take_error_text();
  DeviceTwin::download_all();
  outcome.workspace_intact = workspace.margins_intact();
  return outcome;
}

Outcome run_operator(std::span<const HostTensor* const> tensors, const Phase1& phase1, Phase2 phase2,
                     const RunOptions& options) {
  use_device();
  take_error_text();
  uint64_t workspace_bytes = kUntouchedBytes;
  aclOpExecutor* executor = kUntouchedExecutor;
  Outcome outcome;
  {
    // Arguments are destroyed after phase 1, as the contract allows.
    std::vector<Descriptor> descriptors;
    std::vector<aclTensor*> handles;
    for (const HostTensor* tensor : tensors) {
      descriptors.push_back(tensor != nullptr ? tensor->describe() : Descriptor());
      handles.push_back(descriptors.back().get());
    }
    outcome.phase1 = phase1(handles, &workspace_bytes, &executor);
  }
  if (outcome.phase1 != 0) {
    outcome.error = take_error_text();
    outcome.out_values_untouched = workspace_bytes == kUntouchedBytes && executor == kUntouchedExecutor;
    return outcome;
  }
  return run_phase2(phase2, executor, workspace_bytes, options);
}

}  // namespace openaclnn_verify
