// Converts handles to descriptions, and arguments to parameters of a call.
#include "ops/contract.h"

#include "base/env.h"
#include "base/text.h"

namespace openaclnn {

PlanContext plan_context() {
  const Environment& settings = environment();
  return {platform_kind(), settings.check, settings.vendor_limits};
}

Status not_given(const char* name) {
  return {ACLNN_ERR_PARAM_NULLPTR, text(name, " is NULL; a tensor is required")};
}

Status not_live(const NamedTensor& tensor) {
  return {ACLNN_ERR_PARAM_INVALID, text(tensor.name, " is not a live tensor (", address_text(tensor.handle),
                                        "): it was destroyed, or is another kind of handle")};
}

Status look_up(const char* name, const aclIntArray* handle, IntArray& array) {
  array = nullptr;
  if (handle == nullptr) return {};
  array = IntArrayTable::instance().find(handle);
  if (array != nullptr) return {};
  return {ACLNN_ERR_PARAM_INVALID, text(name, " is not a live aclIntArray (", address_text(handle),
                                        "): it was destroyed, or is another kind of handle")};
}

Parameter parameter(const Argument& argument, Role role) {
  Parameter made;
  made.name = argument.name;
  made.view = argument.view;
  made.is_input = role != Role::output;
  made.is_output = role != Role::input;
  made.is_accessed = !argument.facts.is_empty;
  made.bytes = argument.facts.bytes;
  made.data_bytes = argument.facts.data_bytes;
  if (!made.is_accessed)
    made.view.offset = 0;  // an empty view may have any offset, but kernels compute a base address from it
  return made;
}

Parameter number_parameter(const Argument& argument) {
  Parameter made = parameter(argument, Role::input);
  made.view.rank = 0;
  made.bytes = byte_range(made.view);
  made.data_bytes = made.view.element_bytes();
  return made;
}

}  // namespace openaclnn
