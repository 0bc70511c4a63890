// Calls an operator through the C interface, with tensors from files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tensor_file.h"
#include "verify/room_descriptions.h"

namespace openaclnn_cli {

// The arguments by parameter name: values and shapes as descriptions use them, and the tensors.
struct LoadedArguments {
  openaclnn_verify::Arguments values;
  std::map<std::string, std::vector<LoadedTensor>> tensors;

  bool has(const std::string& name) const { return tensors.contains(name); }
  // Adds a tensor to its parameter, or to the end of a list.
  void add(const std::string& name, LoadedTensor tensor);
  void add_empty_list(const std::string& name);
};

// The result of a call: the first nonzero code and the error message.
struct CallResult {
  int code = 0;
  bool is_rejected = false;  // whether a phase rejected the arguments; otherwise the data has a fault
  std::string sentence;
  uint64_t workspace_bytes = 0;
  double seconds = 0;  // both phases and the wait
};

// Creates the outputs that `arguments` lacks, then runs the operator. Throws BadInput if the arguments
// determine no shape.
CallResult call_operator(const openaclnn_verify::Description& description, LoadedArguments& arguments);

}  // namespace openaclnn_cli
