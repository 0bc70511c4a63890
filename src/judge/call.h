// One call of an operator with its data, wherever it was recorded: in files, in a dump, or in arrays of Python.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "verify/array.h"
#include "verify/description.h"
#include "verify/golden.h"

namespace openaclnn_judge {

using openaclnn_verify::Array;

// Tensors by parameter name ("gradY"): one, or those of a list.
using Tensors = std::map<std::string, std::vector<Array>>;

struct Call {
  std::string label;  // for reports: "NPU.npu_nsa_compress.0.forward"
  const openaclnn_verify::Description* description = nullptr;
  openaclnn_verify::Arguments values;  // numbers, and the dtype and shape of every tensor
  Tensors inputs;                      // including the values of updated tensors before the call
  Tensors results;                     // those of the judged device; may be empty
  Tensors third;  // those of a third device, for rules that compare two devices; may be empty
};

// Adds a tensor to `inputs`, and its shape to `values`.
void add_input(Call& call, const std::string& parameter, Array array);

// Returns the call as the rooms take it, with defaults and the shapes of outputs. Throws as golden_of().
openaclnn_verify::GoldenCall golden_call_of(const Call& call, int threads = 0);

// Returns the exact results. Throws std::invalid_argument with an error message if an argument is missing, or
// shapes contradict each other.
openaclnn_verify::Golden golden_of(const Call& call, int threads = 0);

// The results of this library for the same arguments.
struct OurResults {
  Tensors results;
  std::string fault;  // the error message of bad data, such as an index out of range; empty: none
};
// Throws std::invalid_argument with the library's error message if phase 1 or phase 2 rejects the arguments.
OurResults run_here(const Call& call);

}  // namespace openaclnn_judge
