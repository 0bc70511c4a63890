// Collects the arguments of phase 1.
#include "runtime/call_record.h"

#include <memory>

#include "runtime/tensor.h"

namespace openaclnn {

namespace {

RecordedArgument::TensorText describe(const void* handle) {
  RecordedArgument::TensorText found;
  found.is_given = handle != nullptr;
  if (!found.is_given) return found;
  const std::shared_ptr<const Tensor> tensor =
      TensorTable::instance().find(static_cast<const aclTensor*>(handle));
  found.is_live = tensor != nullptr;
  if (!found.is_live) return found;
  found.dtype = tensor->view.dtype;
  found.dims.assign(tensor->dims().begin(), tensor->dims().end());
  found.strides.assign(tensor->strides().begin(), tensor->strides().end());
  found.offset = tensor->view.offset;
  found.data = tensor->view.data;
  return found;
}

}  // namespace

RecordedArgument& CallRecord::add(const char* name, RecordedArgument::Kind kind) {
  return arguments_.emplace_back(RecordedArgument{name, kind, {}, {}, 0, {}, true});
}

CallRecord& CallRecord::operator()(const char* name, const aclTensor* tensor) {
  RecordedArgument& argument = add(name, RecordedArgument::Kind::tensor);
  argument.tensors.push_back(describe(tensor));
  argument.is_given = tensor != nullptr;
  return *this;
}

CallRecord& CallRecord::operator()(const char* name, const aclTensorList* list) {
  RecordedArgument& argument = add(name, RecordedArgument::Kind::list);
  argument.is_given = list != nullptr;
  const std::shared_ptr<const HandleList> tensors = TensorListTable::instance().find(list);
  if (tensors == nullptr) return *this;
  for (const void* const tensor : tensors->elements) argument.tensors.push_back(describe(tensor));
  return *this;
}

CallRecord& CallRecord::operator()(const char* name, const aclIntArray* array) {
  RecordedArgument& argument = add(name, RecordedArgument::Kind::integers);
  argument.is_given = array != nullptr;
  if (const auto numbers = IntArrayTable::instance().find(array)) argument.integers = *numbers;
  return *this;
}

CallRecord& CallRecord::operator()(const char* name, const char* words) {
  RecordedArgument& argument = add(name, RecordedArgument::Kind::text);
  argument.is_given = words != nullptr;
  if (words != nullptr) argument.text = words;
  return *this;
}

CallRecord& CallRecord::operator()(const char* name, double number) {
  add(name, RecordedArgument::Kind::real).real = number;
  return *this;
}

CallRecord& CallRecord::operator()(const char* name, int64_t number) {
  add(name, RecordedArgument::Kind::integer).integers = {number};
  return *this;
}

CallRecord& CallRecord::operator()(const char* name, uint64_t number) {
  return (*this)(name, static_cast<int64_t>(number));
}

CallRecord& CallRecord::operator()(const char* name, bool flag) {
  add(name, RecordedArgument::Kind::flag).integers = {flag ? 1 : 0};
  return *this;
}

}  // namespace openaclnn
