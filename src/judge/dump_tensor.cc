// Compares each file with what the dump says about it.
#include "judge/dump_tensor.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cstring>
#include <utility>
#include <vector>

#include "files/dtype_names.h"
#include "files/errors.h"
#include "files/tensor_file.h"

namespace openaclnn_judge {

using openaclnn_files::BadInput;
using openaclnn_verify::Array;
using openaclnn_verify::Shape;

namespace {

// Returns the upper halves of FLOAT elements whose lower halves are 0.
Array narrowed_to_bf16(const std::string& path, const Array& wide) {
  const auto count = static_cast<size_t>(wide.numel());
  std::vector<std::byte> bytes(2 * count);
  for (size_t k = 0; k < count; ++k) {
    uint32_t bits = 0;
    std::memcpy(&bits, wide.data.get() + 4 * k, sizeof bits);
    if ((bits & 0xFFFF) != 0)
      throw BadInput(fmt::format(
          "{}: element {} isn't a bfloat16 number, but the dump says that the tensor is bfloat16", path, k));
    const auto half = static_cast<uint16_t>(bits >> 16);
    std::memcpy(bytes.data() + 2 * k, &half, sizeof half);
  }
  return openaclnn_verify::owned_array(ACL_BF16, wide.dims, std::move(bytes));
}

}  // namespace

Array read_dumped_tensor(const std::string& path) {
  openaclnn_files::FileTensor tensor = openaclnn_files::read_tensor(path);
  return openaclnn_verify::owned_array(tensor.dtype, std::move(tensor.dims), std::move(tensor.bytes));
}

Array as_recorded(const std::string& path, const Array& array, aclDataType dtype, const Shape& dims) {
  if (array.dims == dims && array.dtype == dtype) return array;
  if (array.dims == dims && array.dtype == ACL_FLOAT && dtype == ACL_BF16)
    return narrowed_to_bf16(path, array);
  throw BadInput(fmt::format("{}: the file has {}, but the dump says {}", path,
                             shape_text(array.dtype, array.dims), shape_text(dtype, dims)));
}

std::string shape_text(aclDataType dtype, const Shape& dims) {
  return fmt::format("{} [{}]", openaclnn_files::torch_name(dtype), fmt::join(dims, ", "));
}

}  // namespace openaclnn_judge
