// One description of each operator, from which everything is made: options of `run`, calls, replays of dumps.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "acl/acl.h"
#include "aclnn/aclnn_base.h"
#include "tensor_file.h"

namespace openaclnn_cli {

// What the prototype says an argument is.
enum class Kind { tensor, tensor_list, integers, real, integer, flag, text };

// What happens with a tensor's elements.
enum class Use { read, updated, written };

// The arguments of one call, by the names of the parameters. What is missing is NULL, or the default.
struct Arguments {
  std::map<std::string, std::vector<LoadedTensor>> tensors;  // one, or those of a list
  std::map<std::string, std::vector<int64_t>> integers;
  std::map<std::string, double> reals;
  std::map<std::string, std::string> texts;

  bool has(const std::string& name) const { return tensors.contains(name); }
  const StoredTensor& tensor(const std::string& name) const { return tensors.at(name).at(0).header; }
  int64_t integer(const std::string& name) const { return integers.at(name).at(0); }
};

// The shape and dtype of a result; throws BadInput when the other arguments make none.
using Infer = std::function<std::vector<StoredTensor>(const Arguments&)>;

struct Parameter {
  std::string name;
  Use use = Use::read;
  bool is_optional = false;
  std::string fallback = {};  // of numbers and flags; empty: it must be given
  Infer infer = nullptr;      // of results
  Kind kind = Kind::tensor;   // from the prototype

  // "--weight-decay" for weightDecay, "--var" for varRef: what the name says besides the role.
  std::string option() const;
};

struct Description {
  std::string name;  // "GroupedBiasAddGradV2": a function, not a room
  std::string folder;
  std::vector<Parameter> parameters;
  std::function<aclnnStatus(std::span<void* const> handles, const Arguments&, uint64_t*, aclOpExecutor**)>
      phase1;
  aclnnStatus (*phase2)(void*, uint64_t, aclOpExecutor*, aclrtStream);

  const Parameter* find(const std::string& parameter) const;
};

std::span<const Description> descriptions();

// How a call ended: the first code that is not 0, and the sentence.
struct CallResult {
  int code = 0;
  bool is_refused = false;  // by phase 1 or phase 2: the arguments are wrong; else a fault of the data
  std::string sentence;
  uint64_t workspace_bytes = 0;
  double seconds = 0;  // both phases and the wait
};

// Makes the results that `arguments` lacks, then runs the operator on them.
CallResult call_operator(const Description& description, Arguments& arguments);

}  // namespace openaclnn_cli
