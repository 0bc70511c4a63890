// One call of an operator through the C interface, with tensors from files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tensor_file.h"
#include "verify/room_descriptions.h"

namespace openaclnn_cli {

// The arguments by the names of the parameters: values and shapes as descriptions see them, and the tensors themselves.
struct LoadedArguments {
  openaclnn_verify::Arguments values;
  std::map<std::string, std::vector<LoadedTensor>> tensors;

  bool has(const std::string& name) const { return tensors.contains(name); }
  // To a tensor's parameter, or to the end of a list.
  void add(const std::string& name, LoadedTensor tensor);
  void add_empty_list(const std::string& name);
};

// How a call ended: the first code that is not 0, and the sentence.
struct CallResult {
  int code = 0;
  bool is_refused = false;  // by phase 1 or phase 2: the arguments are wrong; else a fault of the data
  std::string sentence;
  uint64_t workspace_bytes = 0;
  double seconds = 0;  // both phases and the wait
};

// Makes the outputs that `arguments` lacks, then runs the operator on them. Throws BadInput when the arguments make no shape.
CallResult call_operator(const openaclnn_verify::Description& description, LoadedArguments& arguments);

}  // namespace openaclnn_cli
