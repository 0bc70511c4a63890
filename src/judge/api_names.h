// Functions of PyTorch, torch_npu, MindSpeed and MindSpore that compute the same as an operator, and which of
// their arguments and results are its parameters. Dumps of this library have the names of operators.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace openaclnn_judge {

// The meaning of an argument of a function for the operator.
enum class ArgumentUse {
  parameter,      // one parameter, or a tuple of several
  rows,           // a table: the parameter is its number of rows
  row_or_none,    // a row of this table, counted from the end if negative; None: no row
  ignored,        // it cannot change the results
  must_be_unset,  // None and False are accepted
};

struct ApiArgument {
  std::string name;
  std::vector<std::string> parameters;
  ArgumentUse use = ArgumentUse::parameter;
};

// A function in one direction. Positional arguments have the order of `arguments`.
struct Api {
  std::string name;                   // "npu_nsa_compress"
  std::vector<std::string> prefixes;  // "Functional"; empty: any
  std::string function;               // "aclnnNsaCompress"
  std::vector<ApiArgument> arguments;
  std::vector<std::string> results;  // parameters
  std::string gradient = {};         // the parameter with the output's gradient; empty: a forward call
  bool is_operator = false;          // aclDumpOpTensors saves tensors only

  bool is_backward() const { return !gradient.empty(); }
};

// The parts of "NPU.npu_nsa_compress.0.backward".
struct ApiKey {
  std::string prefix;  // "NPU"
  std::string name;    // "npu_nsa_compress"
  std::string call;    // "NPU.npu_nsa_compress.0"
  bool is_backward = false;
};

// Returns false if the text isn't the key of an API's call. Keys of modules aren't.
bool parse_api_key(std::string_view text, ApiKey& key);

// Returns nullptr if no operator computes the call.
const Api* find_api(const ApiKey& key);

}  // namespace openaclnn_judge
