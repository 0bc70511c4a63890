// Copies arrays to device memory and back, and calls both phases.
#include "judge/device_tensors.h"

#include <stdexcept>

#include "acl/acl.h"

namespace openaclnn_judge {

using openaclnn_verify::Arguments;
using openaclnn_verify::Description;

DeviceTensors::DeviceTensors(const Description& description, const Arguments& values)
    : description_(description), values_(values) {}

void DeviceTensors::add(const std::string& parameter, std::vector<Array> arrays) {
  std::vector<Tensor>& tensors = tensors_[parameter];
  for (Array& array : arrays) {
    const auto bytes = static_cast<uint64_t>(array.bytes());
    auto memory = std::make_unique<DeviceMemory>(bytes);
    if (array.data != nullptr) {
      memory->put(array.data.get(), bytes);
    } else {
      memory->clear();
    }
    tensors.push_back({std::move(array), std::move(memory)});
  }
}

std::string DeviceTensors::run() {
  aclGetRecentErrMsg();
  PlacedTensors placed;
  for (const auto& [name, tensors] : tensors_) {
    std::vector<PlacedTensor>& places = placed[name];
    for (const Tensor& tensor : tensors)
      places.push_back({tensor.array.dtype, tensor.array.dims, {}, tensor.memory->data()});
  }
  const DeviceMemory makes_a_device_current(0);  // for operators without tensors
  const CallHandles handles(description_, values_, placed);
  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
  if (description_.phase1(handles.get(), values_, &workspace_bytes, &executor) != 0)
    throw std::invalid_argument(error_text());
  const DeviceMemory workspace(workspace_bytes);
  const aclError launched = description_.phase2(workspace.data(), workspace_bytes, executor, nullptr);
  if (launched != 0 && launched != ACL_ERROR_RT_VECTOR_CORE_EXCEPTION)
    throw std::invalid_argument(error_text());
  if (launched != 0) return error_text();
  return aclrtSynchronizeStream(nullptr) != 0 ? error_text() : "";
}

std::vector<Array> DeviceTensors::copy_back(const std::string& parameter) const {
  std::vector<Array> copies;
  for (const Tensor& tensor : tensors_.at(parameter)) {
    std::vector<std::byte> bytes(tensor.memory->bytes());
    tensor.memory->get(bytes.data(), bytes.size());
    copies.push_back(openaclnn_verify::owned_array(tensor.array.dtype, tensor.array.dims, std::move(bytes)));
  }
  return copies;
}

}  // namespace openaclnn_judge
