// Looks up handles.
#include "ops/arguments.h"

namespace openaclnn {

namespace {

Status not_live(const char* name, const char* kind, const void* handle) {
  return invalid(name, " is not a live ", kind, " (", address_text(handle),
                 "): it was destroyed, or is another kind of handle");
}

}  // namespace

Status not_live(const NamedTensor& tensor) { return not_live(tensor.name, "tensor", tensor.handle); }

Status look_up(const char* name, const aclTensorList* handle, ListArgument& argument) {
  argument.name = name;
  if (handle == nullptr) return {};
  argument.handles = TensorListTable::instance().find(handle);
  return argument.is_given() ? Status() : not_live(name, "tensor list", handle);
}

Status look_up(const char* name, const aclIntArray* handle, ArrayArgument& argument) {
  argument.name = name;
  if (handle == nullptr) return {};
  argument.values = IntArrayTable::instance().find(handle);
  return argument.is_given() ? Status() : not_live(name, "aclIntArray", handle);
}

Status FindNull::status() const {
  if (name_ == nullptr) return {};
  return {ACLNN_ERR_PARAM_NULLPTR, text(name_, " is NULL; ", requirement_)};
}

}  // namespace openaclnn
