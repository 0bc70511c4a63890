// Copies the tensors of a call from its device.
#include "host_call.h"

#include <utility>

namespace openaclnn_cli {

openaclnn_verify::Array host_array(const LoadedTensor& tensor) {
  const auto bytes = static_cast<size_t>(tensor.header.bytes);
  std::vector<std::byte> elements(bytes);
  if (bytes > 0) tensor.memory->get(elements.data(), bytes);
  return openaclnn_verify::owned_array(tensor.header.dtype, tensor.header.dims, std::move(elements));
}

openaclnn_judge::Call call_of(const openaclnn_verify::Description& description,
                              const LoadedArguments& arguments) {
  openaclnn_judge::Call call;
  call.label = description.name();
  call.description = &description;
  call.values = arguments.values;
  for (const auto& [name, tensors] : arguments.tensors) {
    std::vector<openaclnn_verify::Array>& arrays = call.inputs[name];
    for (const LoadedTensor& tensor : tensors) arrays.push_back(host_array(tensor));
  }
  return call;
}

}  // namespace openaclnn_cli
