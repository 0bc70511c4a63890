// Calls an operator according to its description, with handles of the tensors.
#include "call.h"

#include <chrono>
#include <stdexcept>
#include <utility>

#include "program.h"

namespace openaclnn_cli {

using openaclnn_judge::CallHandles;
using openaclnn_judge::error_text;
using openaclnn_judge::PlacedTensor;
using openaclnn_judge::PlacedTensors;
using openaclnn_verify::Description;
using openaclnn_verify::Parameter;
using openaclnn_verify::Role;

namespace {

PlacedTensors placed(const LoadedArguments& arguments) {
  PlacedTensors places;
  for (const auto& [name, tensors] : arguments.tensors) {
    std::vector<PlacedTensor>& list = places[name];
    for (const LoadedTensor& tensor : tensors) {
      const StoredTensor& header = tensor.header;
      list.push_back({header.dtype, header.dims, strides_of(header), tensor.memory->data()});
    }
  }
  return places;
}

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
  const DeviceMemory makes_a_device_current(0);  // for operators without tensors
  make_outputs(description, arguments);
  const CallHandles handles(description, arguments.values, placed(arguments));
  const auto start = std::chrono::steady_clock::now();
  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
  if (const int code = description.phase1(handles.get(), arguments.values, &workspace_bytes, &executor);
      code != 0)
    return failed(code, true);
  const DeviceMemory workspace(workspace_bytes);
  if (const int code = description.phase2(workspace.data(), workspace_bytes, executor, nullptr); code != 0)
    return failed(code, code != ACL_ERROR_RT_VECTOR_CORE_EXCEPTION);
  if (const int code = aclrtSynchronizeStream(nullptr); code != 0) return failed(code, false);
  CallResult result;
  result.workspace_bytes = workspace_bytes;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace openaclnn_cli
