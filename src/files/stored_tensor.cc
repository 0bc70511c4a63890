// Sizes and names of tensors in files.
#include "files/stored_tensor.h"

#include <fmt/core.h>

#include "base/dtype.h"
#include "files/errors.h"

namespace openaclnn_files {

uint64_t checked_bytes(const std::string& what, aclDataType dtype, const std::vector<int64_t>& dims) {
  int64_t bytes = static_cast<int64_t>(openaclnn::dtype_size(dtype));
  bool is_empty = false;
  for (const int64_t dim : dims) is_empty = is_empty || dim == 0;
  for (const int64_t dim : dims) {
    if (dim < 0) throw BadInput(fmt::format("{} has the dim {}; dims must not be negative", what, dim));
    if (!is_empty && __builtin_mul_overflow(bytes, dim, &bytes))
      throw BadInput(fmt::format("{} has more than 2^63 - 1 bytes", what));
  }
  return is_empty ? 0 : static_cast<uint64_t>(bytes);
}

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

StoredTensor choose_tensor(std::vector<StoredTensor> tensors, const std::string& name) {
  if (name.empty() && tensors.size() == 1) return std::move(tensors[0]);
  std::string names;
  for (StoredTensor& tensor : tensors) {
    if (tensor.name == name) return std::move(tensor);
    if (names.size() < 300) names += (names.empty() ? "" : ", ") + shown(tensor.name);
  }
  if (tensors.empty()) throw BadInput("the file has no tensors");
  if (name.empty())
    throw BadInput(fmt::format("the file has {} tensors; select one with :NAME: {}", tensors.size(), names));
  throw BadInput(fmt::format("the file has no tensor '{}'; it has {}", shown(name), names));
}

}  // namespace openaclnn_files
