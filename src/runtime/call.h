// The result of phase 1, which phase 2 runs: an operator, its parameters and its plan.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/kernel_io.h"
#include "base/status.h"
#include "base/tensor_view.h"
#include "runtime/call_record.h"
#include "runtime/device.h"
#include "runtime/list_elements.h"
#include "runtime/recycle.h"

namespace openaclnn {

// An operator as the runtime sees it. There is one object per operator, and its address identifies the
// operator.
struct Operator {
  const char* name;         // "aclnnEmbedding"
  RunFunction (*kernel)();  // for the instruction set of this process
  DescribeFunction describe;
};

// One argument that was not NULL in phase 1: a tensor, or a list of tensors.
struct Parameter {
  const char* name = "";
  TensorView view;        // of a tensor, with its address in phase 1
  bool is_input = false;  // both flags: a reference, updated in place
  bool is_output = false;
  bool is_accessed = true;        // whether the task accesses its elements
  bool may_equal_output = false;  // whether this input may be the same view as one output
  ByteRange bytes;                // range of the elements, relative to the address
  int64_t data_bytes = 0;         // of all elements
  bool is_list = false;
  size_t first_element = 0;  // of a list: index into Call::elements
  size_t element_count = 0;

  bool is_written_tensor() const { return is_output && is_accessed && !is_list; }
};

// The immutable result of phase 1.
struct Call {
  const Operator* op = nullptr;
  const char* phase1 = "";               // its function: "aclnnApplyAdamWV2GetWorkspaceSize"
  RecycledVector<Parameter> parameters;  // see has_places()
  ListElements elements;                 // of all list parameters
  uint64_t workspace_bytes = 0;
  // Cost of the task as bytes of memory traffic; a small task may run at once. add_tensor() counts every
  // element that the task accesses. Operators for which this is far off set their own number.
  double work_bytes = 0;
  bool nothing_to_do = false;
  std::shared_ptr<const void> plan;          // of the operator's own type; trivially copyable
  std::shared_ptr<const CallRecord> record;  // nullptr unless calls are recorded

  // The function of phase 2, which names the version that was called: "aclnnApplyAdamWV2".
  std::string_view function() const;
  // Appends a parameter with default values, for the caller to fill. The reference is valid until the next call.
  Parameter& append();
  // Returns the position of a parameter of this call.
  int index_of(const Parameter& parameter) const { return static_cast<int>(&parameter - parameters.data()); }
  // Returns the parameter of an argument, or nullptr if it was NULL.
  const Parameter* find(std::string_view argument) const;
  ptrdiff_t written_tensors() const {
    return std::ranges::count_if(parameters, &Parameter::is_written_tensor);
  }
  // Returns whether the fixed arrays of executors and tasks are large enough. An operator that needs more is
  // an internal error and must not write beyond the arrays.
  bool has_places() const { return parameters.size() <= kMaxParameters && written_tensors() <= kMaxOutputs; }
  Status lacks_places() const;  // 561000
  bool has_lists() const {
    return std::ranges::any_of(parameters, [](const Parameter& parameter) { return parameter.is_list; });
  }
};

// Returns the bytes of a tensor's elements at an address.
MemoryRange memory_at(const void* data, const ByteRange& bytes);

// `elements`: the addresses of all lists, in the order of Call::elements.
std::shared_ptr<const ListIo> make_list_io(const Call& call, RecycledVector<void*> elements);

}  // namespace openaclnn
