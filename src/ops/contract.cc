// Converts handles to descriptions, and arguments to parameters of a call.
#include "ops/contract.h"

#include "base/env.h"
#include "base/text.h"

namespace openaclnn {

PlanContext plan_context() {
  const Environment& settings = environment();
  return {platform_kind(), settings.check, settings.vendor_limits};
}

Status require_given(std::initializer_list<NamedTensor> tensors) {
  for (const NamedTensor& tensor : tensors) {
    if (tensor.handle == nullptr) {
      return {ACLNN_ERR_PARAM_NULLPTR, text(tensor.name, " is NULL; a tensor is required")};
    }
  }
  return {};
}

Status look_up(const NamedTensor& tensor, Argument& argument) {
  argument.name = tensor.name;
  argument.is_given = tensor.handle != nullptr;
  if (!argument.is_given) return {};
  // Copied under the lock: this is faster than sharing the descriptor with a thread that destroys it.
  const bool live =
      TensorTable::instance().with(tensor.handle, [&](const std::shared_ptr<const Tensor>& object) {
        argument.format = object->format;
        argument.rank = object->rank;
        argument.view = object->view;
      });
  if (live) return {};
  return {ACLNN_ERR_PARAM_INVALID,
          text(tensor.name, " is not a live tensor: it was destroyed, or is another kind of handle")};
}

Status look_up(const char* name, const aclIntArray* handle, IntArray& array) {
  array = nullptr;
  if (handle == nullptr) return {};
  array = IntArrayTable::instance().find(handle);
  if (array != nullptr) return {};
  return {ACLNN_ERR_PARAM_INVALID,
          text(name, " is not a live aclIntArray: it was destroyed, or is another kind of handle")};
}

Parameter parameter(const Argument& argument, Role role) {
  Parameter made;
  made.name = argument.name;
  made.view = argument.view;
  made.is_input = role != Role::output;
  made.is_output = role != Role::input;
  made.is_accessed = !argument.view.is_empty();
  if (!made.is_accessed)
    made.view.offset = 0;  // an empty view may have any offset, but kernels compute a base address from it
  return made;
}

}  // namespace openaclnn
