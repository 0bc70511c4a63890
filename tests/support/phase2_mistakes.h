// The checks of phase 2 as data: every mistake in the order of the checks, made from the description of a
// call that runs, and the tests of all operators. tests/runtime tests a stream of another device and a
// queue that fails.
#pragma once

#include "support/phase2_launch.h"

namespace openaclnn_test {

// Every mistake alone has its code and error message, the earlier of two determines the result, nothing is
// written, a planned executor is consumed, and the call itself works afterwards. Prints the tested mistakes.
// Returns the number of pairs.
int expect_launch_mistakes_in_order(const Launch& launch);

// Every distance from an aligned address that is not a multiple of the element size, for each accessed tensor.
void expect_misaligned_data_refused(const Launch& launch);

// A call succeeds with any address for tensors it does not access and any workspace it does not need, also with
// more workspace than it needs.
void expect_only_needed_memory_matters(const Launch& launch);

// Adjacent tensors and workspace without a gap give the same results.
void expect_neighbours_work(const Launch& launch);

// Address updates between the phases: the indices of aclSetTensorAddr are the inputs, then the outputs; a
// reference counts as both. aclSetInputTensorAddr and aclSetOutputTensorAddr count their own. Indices after
// the last one are rejected. One repeatable executor, planned without addresses, runs with all of them. All
// tensors are accessed.
void expect_address_updates_work(const Launch& launch);

// In a process with OPENACLNN_CHECK=strict and a launch in library memory: memory that the allocator does
// not know, and views that exceed their block, for each accessed tensor and the workspace.
void expect_unknown_memory_refused(const Launch& launch);

}  // namespace openaclnn_test
