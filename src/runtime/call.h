// What phase 1 makes and phase 2 runs: an operator, its parameters and its plan.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "base/kernel_io.h"
#include "base/status.h"
#include "base/tensor_view.h"
#include "runtime/call_record.h"
#include "runtime/device.h"
#include "runtime/list_elements.h"
#include "runtime/recycle.h"

namespace openaclnn {

// An operator as the runtime sees it. The address identifies the operator: one object per operator.
struct Operator {
  const char* name;         // "aclnnEmbedding"
  RunFunction (*kernel)();  // for the instruction set of this process
  DescribeFunction describe;
};

// One argument that was not NULL in phase 1: a tensor, or a list of tensors.
struct Parameter {
  const char* name = "";
  TensorView view;        // with the address it had in phase 1; of a tensor
  bool is_input = false;  // both: a reference updated in place
  bool is_output = false;
  bool is_accessed = true;        // the task touches its elements
  bool may_equal_output = false;  // an input that may be the identical view of one output
  ByteRange bytes;                // of the elements, from the address on; filled in by Call::add
  bool is_list = false;
  size_t first_element = 0;  // of a list, in Call::elements
  size_t element_count = 0;

  bool is_written_tensor() const { return is_output && is_accessed && !is_list; }
};

// The immutable result of phase 1.
struct Call {
  const Operator* op = nullptr;
  RecycledVector<Parameter> parameters;  // see has_places()
  ListElements elements;                 // of all list parameters
  uint64_t workspace_bytes = 0;
  // What the task costs, as bytes of memory traffic: a small task may run at once. Call::add() counts every element that the
  // task accesses; operators for which that is far off put their own number here.
  double work_bytes = 0;
  bool nothing_to_do = false;
  std::shared_ptr<const void> plan;          // of the operator's own type, trivially copyable
  std::shared_ptr<const CallRecord> record;  // nullptr unless calls are recorded

  // Returns the parameter's position.
  int add(const Parameter& parameter);
  ptrdiff_t written_tensors() const {
    return std::ranges::count_if(parameters, &Parameter::is_written_tensor);
  }
  // Executors and tasks have places for so many parameters and written tensors. An operator that needs more is a mistake of this
  // library, and must not write behind their arrays.
  bool has_places() const { return parameters.size() <= kMaxParameters && written_tensors() <= kMaxOutputs; }
  Status lacks_places() const;  // 561000
  bool has_lists() const {
    return std::ranges::any_of(parameters, [](const Parameter& parameter) { return parameter.is_list; });
  }
};

}  // namespace openaclnn
