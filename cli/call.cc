// Calls an operator according to its description, with handles of the tensors.
#include "call.h"

#include <chrono>
#include <stdexcept>
#include <utility>

#include "library.h"
#include "program.h"

namespace openaclnn_cli {

using openaclnn_verify::Description;
using openaclnn_verify::Kind;
using openaclnn_verify::Parameter;
using openaclnn_verify::Role;

namespace {

// Returns the strides of the elements in the file. The strides of empty tensors do not matter, and the
// product of their other dims may exceed 64 bits.
std::vector<int64_t> strides_of(const StoredTensor& tensor) {
  std::vector<int64_t> strides(tensor.dims.size(), 1);
  if (tensor.bytes == 0) return strides;
  int64_t stride = 1;
  for (size_t n = 0; n < strides.size(); ++n) {
    const size_t k = tensor.is_column_major ? n : strides.size() - 1 - n;
    strides[k] = stride;
    stride *= tensor.dims[k];
  }
  return strides;
}

aclTensor* make_handle(const LoadedTensor& tensor) {
  const std::vector<int64_t> strides = strides_of(tensor.header);
  const std::vector<int64_t>& dims = tensor.header.dims;
  aclTensor* const handle = aclCreateTensor(dims.data(), dims.size(), tensor.header.dtype, strides.data(), 0,
                                            ACL_FORMAT_ND, dims.data(), dims.size(), tensor.memory->data);
  if (handle == nullptr) throw Failure(error_text());
  return handle;
}

// The handles of one call, in the order of the parameters; NULL for numbers and for omitted arguments.
class Handles {
 public:
  Handles(const Description& description, const LoadedArguments& arguments) : description_(description) {
    for (const Parameter& parameter : description.parameters) handles_.push_back(make(parameter, arguments));
  }
  ~Handles() {
    for (size_t k = 0; k < handles_.size(); ++k) {
      if (handles_[k] == nullptr) continue;
      switch (description_.parameters[k].kind) {
        case Kind::tensor: aclDestroyTensor(static_cast<aclTensor*>(handles_[k])); break;
        case Kind::tensor_list: aclDestroyTensorList(static_cast<aclTensorList*>(handles_[k])); break;
        default: aclDestroyIntArray(static_cast<aclIntArray*>(handles_[k])); break;
      }
    }
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  std::span<void* const> get() const { return handles_; }

 private:
  static void* make(const Parameter& parameter, const LoadedArguments& arguments) {
    if (parameter.kind == Kind::integers) {
      const auto given = arguments.values.integers.find(parameter.name);
      if (given == arguments.values.integers.end()) return nullptr;
      return aclCreateIntArray(given->second.data(), given->second.size());
    }
    if (!arguments.has(parameter.name)) return nullptr;
    const std::vector<LoadedTensor>& tensors = arguments.tensors.at(parameter.name);
    if (parameter.kind == Kind::tensor) return make_handle(tensors.at(0));
    std::vector<aclTensor*> elements;
    for (const LoadedTensor& tensor : tensors) elements.push_back(make_handle(tensor));
    return aclCreateTensorList(elements.data(), elements.size());
  }

  const Description& description_;
  std::vector<void*> handles_;
};

void make_outputs(const Description& description, LoadedArguments& arguments) {
  for (const Parameter& parameter : description.parameters) {
    if (parameter.role != Role::output || arguments.has(parameter.name)) continue;
    try {
      const auto [dtype, dims] = parameter.infer(arguments.values);
      openaclnn_files::checked_bytes(parameter.name, dtype, dims);
      arguments.add(parameter.name, make_tensor(dtype, dims));
    } catch (const std::invalid_argument& error) {
      throw BadInput(error.what());
    }
  }
}

CallResult failed(int code, bool is_rejected) {
  CallResult result;
  result.code = code;
  result.is_rejected = is_rejected;
  result.sentence = error_text();
  return result;
}

}  // namespace

void LoadedArguments::add(const std::string& name, LoadedTensor tensor) {
  values.tensors[name].push_back({tensor.header.dtype, tensor.header.dims});
  tensors[name].push_back(std::move(tensor));
}

void LoadedArguments::add_empty_list(const std::string& name) {
  values.tensors[name];
  tensors[name];
}

CallResult call_operator(const Description& description, LoadedArguments& arguments) {
  const DeviceMemory makes_a_device_current(1);  // for operators without tensors
  make_outputs(description, arguments);
  const Handles handles(description, arguments);
  const auto start = std::chrono::steady_clock::now();
  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
  if (const int code = description.phase1(handles.get(), arguments.values, &workspace_bytes, &executor);
      code != 0)
    return failed(code, true);
  const DeviceMemory workspace(workspace_bytes);
  if (const int code = description.phase2(workspace.data, workspace_bytes, executor, nullptr); code != 0)
    return failed(code, code != ACL_ERROR_RT_VECTOR_CORE_EXCEPTION);
  if (const int code = aclrtSynchronizeStream(nullptr); code != 0) return failed(code, false);
  CallResult result;
  result.workspace_bytes = workspace_bytes;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace openaclnn_cli
