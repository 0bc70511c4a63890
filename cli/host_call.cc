// Copies the tensors of a call from its device, and to it.
#include "host_call.h"

#include <utility>

#include "files/tensor_file.h"

namespace openaclnn_cli {

namespace {

LoadedTensor device_tensor(const openaclnn_verify::Array& array) {
  LoadedTensor made = make_tensor(array.dtype, array.dims);
  if (array.data != nullptr) {
    made.memory->put(array.data.get(), made.header.bytes);
  } else {
    made.memory->clear();
  }
  return made;
}

}  // namespace

openaclnn_verify::Array host_array(const LoadedTensor& tensor) {
  std::vector<std::byte> elements(tensor.header.bytes);
  tensor.memory->get(elements.data(), elements.size());
  return openaclnn_verify::owned_array(tensor.header.dtype, tensor.header.dims,
                                       openaclnn_files::row_major(tensor.header, std::move(elements)));
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

LoadedArguments arguments_of(openaclnn_judge::Call call) {
  LoadedArguments arguments;
  arguments.values = call.values;
  arguments.values.tensors.clear();
  for (const auto& [name, shapes] : call.values.tensors) {
    if (call.description->find(name)->kind == openaclnn_verify::Kind::tensor_list)
      arguments.add_empty_list(name);
    const auto inputs = call.inputs.find(name);
    for (size_t k = 0; k < shapes.size(); ++k) {
      if (inputs == call.inputs.end()) {
        arguments.add(name, make_tensor(shapes[k].dtype, shapes[k].dims));
        continue;
      }
      arguments.add(name, device_tensor(inputs->second[k]));
      inputs->second[k] = {};  // frees its elements
    }
  }
  return arguments;
}

}  // namespace openaclnn_cli
