// The arguments of one phase 1 as data, open to any number of mistakes, and the call itself, which accesses
// no tensor data.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/verify.h"
#include "verify/case.h"
#include "verify/description.h"
#include "verify/runner.h"

namespace openaclnn_test {

// Holds sums and products of two int64, for models of overflow beyond 64 bits.
__extension__ typedef __int128 Wide;

// The kind of value that is passed for a handle. Stale: its object was destroyed. Foreign: bits that no
// function returned. Other kind: the handle of a live int array for a tensor, of a live tensor for an int
// array.
enum class Handle { live, null, stale, foreign_bits, other_kind };

// The name, role, optionality and dtypes come from the function's description: schema_of() sets them.
struct TensorArgument {
  aclDataType dtype = ACL_FLOAT;
  Shape dims = {};
  Handle handle = Handle::live;
  std::vector<int64_t> elements = {};  // of integers, for tests that run the call; empty: 0, 1, 2 …
  std::string name = {};
  Role role = Role::input;
  bool is_optional = false;
  std::vector<aclDataType> dtypes = {};  // which the description accepts
  size_t dtype_of = 0;                   // the tensor whose dtype it must have, perhaps itself
  Shape strides = {};                    // empty: NULL
  int64_t offset = 0;
  aclFormat format = ACL_FORMAT_ND;

  // False for an omitted optional tensor: only its handle can be wrong.
  bool is_given() const { return handle != Handle::null; }
};

// The host array of an operator that has one; it is always optional.
struct IntArrayArgument {
  std::vector<int64_t> values = {};
  Handle handle = Handle::live;
  std::string name = {};
  size_t before = 0;  // the tensor that follows it in the prototype
};

// The values of each kind, in the order of the prototype.
struct CallArguments {
  std::vector<TensorArgument> tensors;
  std::optional<IntArrayArgument> array = {};
  std::optional<std::string> layout = {};  // the text of a char* attribute; none: NULL
  std::vector<int64_t> numbers = {};
  std::vector<double> reals = {};  // may have any value
  std::vector<bool> flags = {};
  bool has_workspace_pointer = true;
  bool has_executor_pointer = true;
};

// The arguments of the C function.
struct CallHandles {
  std::vector<void*> tensors;  // aclTensor*, or aclTensorList*
  aclIntArray* array = nullptr;
  char* layout = nullptr;
  std::vector<int64_t> numbers;
  std::vector<double> reals;
  std::vector<bool> flags;
};

using Phase1Call =
    std::function<aclnnStatus(const CallHandles&, uint64_t* workspace_bytes, aclOpExecutor** executor)>;

// The handles without objects: numbers, reals and flags.
CallHandles values_of(const CallArguments& arguments);

// Flags that select the form of a call, by name: no test changes them.
using FixedFlags = std::map<std::string, bool>;

// The arguments of Description::phase1. An argument of a list is the list's handle in CallHandles::tensors.
struct DescribedCall {
  std::vector<void*> handles;
  openaclnn_verify::Arguments arguments;
};
DescribedCall described_call(const openaclnn_verify::Description& description, const CallHandles& call,
                             const FixedFlags& fixed);
Phase1Call phase1_of(const openaclnn_verify::Description& description, const FixedFlags& fixed = {});

// Creates the objects, calls phase 1 and destroys its executor if there is one.
Outcome run_phase1(const CallArguments& arguments, const Phase1Call& phase1);

}  // namespace openaclnn_test
