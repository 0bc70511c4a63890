// The arguments of one phase 1 as data, open to any number of faults, and the call itself. No tensor data is ever touched.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "support/verify.h"
#include "verify/case.h"
#include "verify/runner.h"

namespace openaclnn_test {

// Holds what sums and products of two int64 give: for models of what fits into 64 bits.
__extension__ typedef __int128 Wide;

// What is passed for a handle. Stale: its object was destroyed. Foreign: bits that no function returned. Other kind: the handle
// of a live int array for a tensor, of a live tensor for an int array.
enum class Handle { live, null, stale, foreign_bits, other_kind };

struct TensorArgument {
  const char* name = "";
  Role role = Role::input;
  aclDataType dtype = ACL_FLOAT;
  Shape dims = {};
  bool is_optional = false;
  Handle handle = Handle::live;
  Shape strides = {};  // empty: NULL
  int64_t offset = 0;
  aclFormat format = ACL_FORMAT_ND;

  // False for an optional tensor that is left out: only its handle can be wrong.
  bool is_given() const { return handle != Handle::null; }
};

// The host array of an operator that has one; it is optional in all of them.
struct IntArrayArgument {
  const char* name = "";
  size_t before = 0;  // the tensor that follows it in the signature
  Handle handle = Handle::live;
  std::vector<int64_t> values = {};
};

struct CallArguments {
  std::vector<TensorArgument> tensors;  // in the order of the signature
  std::optional<IntArrayArgument> array = {};
  std::optional<std::string> layout = {};  // the text of a char* attribute; none: NULL
  std::vector<int64_t> numbers = {};       // the attributes that are tested, as the room lists them
  std::vector<double> reals = {};          // the attributes that may have any value
  std::vector<bool> flags = {};
  bool has_workspace_pointer = true;
  bool has_executor_pointer = true;
};

// What the C function gets of them.
struct CallHandles {
  std::vector<aclTensor*> tensors;
  aclIntArray* array = nullptr;
  char* layout = nullptr;
  std::vector<int64_t> numbers;
  std::vector<double> reals;
  std::vector<bool> flags;
};

using Phase1Call =
    std::function<aclnnStatus(const CallHandles&, uint64_t* workspace_bytes, aclOpExecutor** executor)>;

// Makes the objects, calls phase 1 and destroys the executor it may have made.
Outcome run_phase1(const CallArguments& arguments, const Phase1Call& phase1);

}  // namespace openaclnn_test
