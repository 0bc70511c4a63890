// Copies arrays to device memory and back, and calls both phases.
#include "judge/device_tensors.h"

#include <sstream>
#include <stdexcept>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"

namespace openaclnn_judge {

using openaclnn_verify::Arguments;
using openaclnn_verify::Description;
using openaclnn_verify::Kind;
using openaclnn_verify::Parameter;

namespace {

std::string error_text() {
  const char* const text = aclGetRecentErrMsg();
  if (text == nullptr) return "the library returned no error message";
  std::istringstream lines(text);
  std::string joined;
  for (std::string line; std::getline(lines, line);) joined += (joined.empty() ? "" : "; ") + line;
  return joined;
}

void require_success(aclError code) {
  if (code != 0) throw std::invalid_argument(error_text());
}

// A caller may have chosen a device.
void require_device() {
  int32_t device = 0;
  if (aclrtGetDevice(&device) == 0) return;
  aclGetRecentErrMsg();
  require_success(aclrtSetDevice(0));
}

}  // namespace

DeviceMemory::DeviceMemory(uint64_t bytes) : bytes_(bytes) {
  if (bytes > 0) require_success(aclrtMalloc(&data_, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
}

DeviceMemory::~DeviceMemory() {
  if (data_ != nullptr) aclrtFree(data_);
}

void DeviceMemory::put(const std::byte* from) {
  if (bytes_ == 0) return;
  require_success(from != nullptr ? aclrtMemcpy(data_, bytes_, from, bytes_, ACL_MEMCPY_HOST_TO_DEVICE)
                                  : aclrtMemset(data_, bytes_, 0, bytes_));
}

void DeviceMemory::get(std::byte* to) const {
  if (bytes_ > 0) require_success(aclrtMemcpy(to, bytes_, data_, bytes_, ACL_MEMCPY_DEVICE_TO_HOST));
}

// The handles of one call in the order of the parameters; NULL for numbers and for omitted arguments.
class CallHandles {
 public:
  explicit CallHandles(const DeviceTensors& call) : call_(call) {
    handles_.resize(call.description_.parameters.size());
    for (size_t k = 0; k < handles_.size(); ++k) handles_[k] = make(call.description_.parameters[k]);
  }
  ~CallHandles() {
    for (size_t k = 0; k < handles_.size(); ++k) {
      if (handles_[k] == nullptr) continue;
      switch (call_.description_.parameters[k].kind) {
        case Kind::tensor: aclDestroyTensor(static_cast<aclTensor*>(handles_[k])); break;
        case Kind::tensor_list: aclDestroyTensorList(static_cast<aclTensorList*>(handles_[k])); break;
        default: aclDestroyIntArray(static_cast<aclIntArray*>(handles_[k])); break;
      }
    }
  }
  CallHandles(const CallHandles&) = delete;
  CallHandles& operator=(const CallHandles&) = delete;

  std::span<void* const> get() const { return handles_; }

 private:
  static aclTensor* make_tensor(const DeviceTensors::Tensor& tensor) {
    const std::vector<int64_t>& dims = tensor.array.dims;
    return aclCreateTensor(dims.data(), dims.size(), tensor.array.dtype, nullptr, 0, ACL_FORMAT_ND,
                           dims.data(), dims.size(), tensor.memory->data());
  }
  void* make(const Parameter& parameter) const {
    if (parameter.kind == Kind::integers) {
      const auto given = call_.values_.integers.find(parameter.name);
      if (given == call_.values_.integers.end()) return nullptr;
      return aclCreateIntArray(given->second.data(), given->second.size());
    }
    const auto found = call_.tensors_.find(parameter.name);
    if (found == call_.tensors_.end()) return nullptr;
    if (parameter.kind == Kind::tensor) return make_tensor(found->second.at(0));
    std::vector<aclTensor*> elements;
    for (const DeviceTensors::Tensor& tensor : found->second) elements.push_back(make_tensor(tensor));
    return aclCreateTensorList(elements.data(), elements.size());
  }

  const DeviceTensors& call_;
  std::vector<void*> handles_;
};

DeviceTensors::DeviceTensors(const Description& description, const Arguments& values)
    : description_(description), values_(values) {
  require_device();
}

void DeviceTensors::add(const std::string& parameter, std::vector<Array> arrays) {
  std::vector<Tensor>& tensors = tensors_[parameter];
  for (Array& array : arrays) {
    const auto bytes = static_cast<uint64_t>(array.bytes());
    tensors.push_back({std::move(array), std::make_unique<DeviceMemory>(bytes)});
    tensors.back().memory->put(tensors.back().array.data.get());
  }
}

std::string DeviceTensors::run() {
  aclGetRecentErrMsg();
  const CallHandles handles(*this);
  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
  require_success(description_.phase1(handles.get(), values_, &workspace_bytes, &executor));
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
    tensor.memory->get(bytes.data());
    copies.push_back(openaclnn_verify::owned_array(tensor.array.dtype, tensor.array.dims, std::move(bytes)));
  }
  return copies;
}

}  // namespace openaclnn_judge
