// One phase 2 of an operator as data: a call that runs, and its arguments, open to any number of mistakes.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/verify.h"
#include "verify/case.h"
#include "verify/description.h"
#include "verify/runner.h"

namespace openaclnn_test {

struct LaunchTensor {
  std::string name;
  Role role;
  HostTensor tensor;
  bool is_accessed = true;        // false: its address does not matter
  bool may_equal_output = false;  // as the identical view
};

// A call that runs: small contiguous tensors with valid contents, each of a multiple of 4 bytes, outputs of 8.
struct Launch {
  const char* function = "";          // of phase 2
  std::vector<LaunchTensor> tensors;  // in the order of the signature
  Phase1 phase1;
  Phase2 phase2 = nullptr;
};

// A case of the room, with its data.
Launch make_launch(const char* function, const Case& made, Placement placement = Placement::ends_at_guard);

// Notes which inputs may be the identical view of an output.
Launch with_aliasing(Launch launch, const Description& description);

// A tensor of a launch that is made without a case: an input of ordinary numbers, an output of canary bytes.
LaunchTensor input_tensor(const char* name, aclDataType dtype, const Shape& dims,
                          Placement placement = Placement::ends_at_guard);
LaunchTensor output_tensor(const char* name, aclDataType dtype, const Shape& dims,
                           Placement placement = Placement::ends_at_guard);

// Marks the tensors whose data the call does not access.
Launch not_accessing(Launch launch, const std::vector<size_t>& tensors);

// The same call in fresh memory with the same contents.
Launch copy_of(const Launch& launch);

// The launch with its tensors, a guarded workspace and the default stream.
Outcome run_launch(const Launch& launch, Placement workspace = Placement::ends_at_guard);

// All arguments of phase 2.
struct LaunchArguments {
  enum class Executor { planned, null, foreign_bits, destroyed, of_another_operator };
  Executor executor = Executor::planned;
  bool has_context = true;
  aclrtStream stream = nullptr;
  void* workspace = nullptr;
  uint64_t workspace_bytes = 0;
  std::vector<HostTensor> tensors;
};

// The launch's own tensors.
LaunchArguments valid_arguments(const Launch& launch, void* workspace, uint64_t workspace_bytes);

// Runs phase 1, then phase 2, and a second phase 2 that must find the executor consumed after any result of
// the first one.
Outcome run_arguments(const Launch& launch, const LaunchArguments& arguments);

uint64_t required_workspace(const Launch& launch);

// Tensors over other memory; `moved`: that many bytes after their own address.
HostTensor placed_at(const HostTensor& tensor, const HostTensor& memory, void* address);
HostTensor moved(const HostTensor& tensor, int64_t bytes);
int64_t bytes_of(const HostTensor& tensor);

// Stores the contents of all tensors; `refused`: the outcome of a phase 2 that must fail and must not have
// changed them.
Launch remembering(Launch launch);
::testing::AssertionResult refused(const Launch& launch, const LaunchArguments& arguments, int code,
                                   const std::vector<std::string>& sentence);

}  // namespace openaclnn_test
