// Owns device memory and handles.
#include "judge/device_call.h"

#include <sstream>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "files/errors.h"

namespace openaclnn_judge {

using openaclnn_files::Failure;
using openaclnn_verify::Arguments;
using openaclnn_verify::Description;
using openaclnn_verify::Kind;
using openaclnn_verify::Parameter;

namespace {

void require_success(aclError code) {
  if (code != 0) throw Failure(error_text());
}

// A caller may have chosen a device.
void require_device() {
  int32_t device = 0;
  if (aclrtGetDevice(&device) == 0) return;
  aclGetRecentErrMsg();
  require_success(aclrtSetDevice(0));
}

template <class Handle>
Handle* made(Handle* handle) {
  if (handle == nullptr) throw Failure(error_text());
  return handle;
}

aclTensor* make_tensor(const PlacedTensor& tensor) {
  const std::vector<int64_t>& dims = tensor.dims;
  return made(aclCreateTensor(dims.data(), dims.size(), tensor.dtype,
                              tensor.strides.empty() ? nullptr : tensor.strides.data(), 0, ACL_FORMAT_ND,
                              dims.data(), dims.size(), tensor.data));
}

aclTensorList* make_list(const std::vector<PlacedTensor>& tensors) {
  std::vector<aclTensor*> elements;
  try {
    for (const PlacedTensor& tensor : tensors) elements.push_back(make_tensor(tensor));
    return made(aclCreateTensorList(elements.data(), elements.size()));
  } catch (...) {
    for (aclTensor* const element : elements) aclDestroyTensor(element);
    throw;
  }
}

void* make_handle(const Parameter& parameter, const Arguments& values, const PlacedTensors& tensors) {
  if (parameter.kind == Kind::integers) {
    const auto given = values.integers.find(parameter.name);
    if (given == values.integers.end()) return nullptr;
    return made(aclCreateIntArray(given->second.data(), given->second.size()));
  }
  const auto given = tensors.find(parameter.name);
  if (given == tensors.end()) return nullptr;
  if (parameter.kind == Kind::tensor_list) return make_list(given->second);
  return make_tensor(given->second.at(0));
}

}  // namespace

std::string error_text() {
  const char* const text = aclGetRecentErrMsg();
  if (text == nullptr) return "the library returned no error message";
  std::istringstream lines(text);
  std::string joined;
  for (std::string line; std::getline(lines, line);) joined += (joined.empty() ? "" : "; ") + line;
  return joined;
}

DeviceMemory::DeviceMemory(uint64_t bytes) : bytes_(bytes) {
  require_device();
  if (bytes > 0) require_success(aclrtMalloc(&data_, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
}

DeviceMemory::~DeviceMemory() {
  if (data_ != nullptr) aclrtFree(data_);
}

void DeviceMemory::put(const void* from, uint64_t bytes, uint64_t at) {
  if (bytes == 0) return;
  require_success(
      aclrtMemcpy(static_cast<char*>(data_) + at, bytes_ - at, from, bytes, ACL_MEMCPY_HOST_TO_DEVICE));
}

void DeviceMemory::get(void* to, uint64_t bytes, uint64_t at) const {
  if (bytes == 0) return;
  require_success(
      aclrtMemcpy(to, bytes, static_cast<const char*>(data_) + at, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
}

void DeviceMemory::clear() {
  if (bytes_ > 0) require_success(aclrtMemset(data_, bytes_, 0, bytes_));
}

CallHandles::CallHandles(const Description& description, const Arguments& values,
                         const PlacedTensors& tensors)
    : description_(description), handles_(description.parameters.size()) {
  try {
    for (size_t k = 0; k < handles_.size(); ++k)
      handles_[k] = make_handle(description.parameters[k], values, tensors);
  } catch (...) {
    destroy();
    throw;
  }
}

CallHandles::~CallHandles() { destroy(); }

void CallHandles::destroy() {
  for (size_t k = 0; k < handles_.size(); ++k) {
    if (handles_[k] == nullptr) continue;
    switch (description_.parameters[k].kind) {
      case Kind::tensor: aclDestroyTensor(static_cast<aclTensor*>(handles_[k])); break;
      case Kind::tensor_list: aclDestroyTensorList(static_cast<aclTensorList*>(handles_[k])); break;
      default: aclDestroyIntArray(static_cast<aclIntArray*>(handles_[k])); break;
    }
  }
}

}  // namespace openaclnn_judge
