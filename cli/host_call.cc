// Copies the tensors of a call from its device, and to it.
#include "host_call.h"

#include <algorithm>
#include <utility>

#include "acl/acl.h"
#include "base/dtype.h"
#include "library.h"
#include "program.h"

namespace openaclnn_cli {

namespace {

// Returns the elements in row-major order.
std::vector<std::byte> row_major(const std::vector<std::byte>& column_major, const std::vector<int64_t>& dims,
                                 size_t element_bytes) {
  std::vector<std::byte> ordered(column_major.size());
  std::vector<int64_t> index(dims.size());
  for (size_t to = 0; to < ordered.size(); to += element_bytes) {
    size_t from = 0;
    for (size_t k = dims.size(); k-- > 0;)
      from = from * static_cast<size_t>(dims[k]) + static_cast<size_t>(index[k]);
    std::copy_n(column_major.begin() + static_cast<std::ptrdiff_t>(from * element_bytes), element_bytes,
                ordered.begin() + static_cast<std::ptrdiff_t>(to));
    for (size_t k = dims.size(); k-- > 0 && ++index[k] == dims[k];) index[k] = 0;
  }
  return ordered;
}

LoadedTensor device_tensor(const openaclnn_verify::Array& array) {
  LoadedTensor made = make_tensor(array.dtype, array.dims);
  if (made.header.bytes == 0) return made;
  if (array.data != nullptr) {
    made.memory->put(array.data.get(), made.header.bytes);
  } else if (aclrtMemset(made.memory->data, made.header.bytes, 0, made.header.bytes) != 0) {
    throw Failure(error_text());
  }
  return made;
}

}  // namespace

openaclnn_verify::Array host_array(const LoadedTensor& tensor) {
  const auto bytes = static_cast<size_t>(tensor.header.bytes);
  std::vector<std::byte> elements(bytes);
  if (bytes > 0) tensor.memory->get(elements.data(), bytes);
  if (tensor.header.is_column_major && tensor.header.dims.size() > 1)
    elements = row_major(elements, tensor.header.dims, openaclnn::dtype_size(tensor.header.dtype));
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
