// Finds and checks the tensors and attributes of calls.
#include "verify/golden/arguments.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "verify/number.h"

namespace openaclnn_verify {

void reject(const std::string& message) { throw std::invalid_argument(message); }

std::string dims_text(const Shape& dims) {
  std::string text = "[";
  for (const int64_t dim : dims) text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
  return text + "]";
}

namespace {

std::string entry_name(const std::string& name, const std::vector<Array>& list, size_t index) {
  return list.size() > 1 ? name + "[" + std::to_string(index) + "]" : name;
}

// The goldens multiply dims without further checks.
void require_size(const std::string& name, const Array& tensor) {
  const int64_t bytes = std::max<int64_t>(element_bytes(tensor.dtype), 8);
  int64_t size = bytes;
  const bool is_empty = std::ranges::count(tensor.dims, 0) > 0;
  for (const int64_t dim : tensor.dims) {
    if (dim < 0) reject(name + " has shape " + dims_text(tensor.dims) + "; no dim may be negative");
    // Products of dims must also be valid without the dims of 0.
    if (__builtin_mul_overflow(size, std::max<int64_t>(dim, 1), &size))
      reject(name + " has shape " + dims_text(tensor.dims) + "; it must have less than 2^63 bytes");
  }
  if (element_bytes(tensor.dtype) == 0 && !is_empty) reject(name + " has a dtype that no operator accepts");
}

}  // namespace

GivenTensors::GivenTensors(const GoldenCall& call, std::span<const char* const> order,
                           std::initializer_list<const char*> lists) {
  size_t next = 0;
  for (const char* const name : order) {
    if (!call.arguments.tensors.contains(name)) continue;
    const bool is_list =
        std::ranges::count(lists, std::string(name), [](const char* list) { return std::string(list); }) > 0;
    const size_t count = is_list ? call.arguments.list_length : 1;
    if (count > call.tensors.size() - next) reject(std::string(name) + " is missing");
    std::vector<Array>& named = tensors_[name];
    for (size_t k = 0; k < count; ++k) {
      named.push_back(call.tensors[next++]);
      require_size(name, named.back());
    }
  }
  if (next != call.tensors.size()) reject("the call has more tensors than parameters");
}

const Array& GivenTensors::shape_of(const std::string& name, size_t list_index) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end() || list_index >= found->second.size()) reject(name + " is missing");
  return found->second[list_index];
}

const Array& GivenTensors::read(const std::string& name, size_t list_index) const {
  const Array& tensor = shape_of(name, list_index);
  if (!tensor.has_data()) reject(entry_name(name, tensors_.at(name), list_index) + " has no data");
  return tensor;
}

const Array& GivenTensors::read(const std::string& name, std::span<const aclDataType> dtypes,
                                size_t list_index) const {
  const Array& tensor = read(name, list_index);
  if (std::ranges::count(dtypes, tensor.dtype) > 0) return tensor;
  std::string accepted;
  for (const aclDataType dtype : dtypes)
    accepted += (accepted.empty() ? "" : ", ") + std::string(dtype_name(dtype));
  reject(entry_name(name, tensors_.at(name), list_index) + " has dtype " + dtype_name(tensor.dtype) +
         "; it must be one of " + accepted);
}

void require_rank(const std::string& name, const Array& tensor, size_t rank) {
  if (tensor.dims.size() == rank) return;
  reject(name + " has shape " + dims_text(tensor.dims) + "; its rank must be " + std::to_string(rank));
}

void require_dims(const std::string& name, const Array& tensor, const Shape& dims) {
  if (tensor.dims == dims) return;
  reject(name + " has shape " + dims_text(tensor.dims) + "; it must be " + dims_text(dims));
}

int64_t integer_of(const RecordedCall& call, const std::string& name) {
  const auto found = call.integers.find(name);
  if (found == call.integers.end()) reject(name + " is missing");
  return found->second;
}

int64_t integer_of(const RecordedCall& call, const std::string& name, int64_t fallback) {
  const auto found = call.integers.find(name);
  return found == call.integers.end() ? fallback : found->second;
}

double real_of(const RecordedCall& call, const std::string& name) {
  const auto found = call.reals.find(name);
  if (found == call.reals.end()) reject(name + " is missing");
  return found->second;
}

int64_t integer_at(const Array& tensor, int64_t position) {
  if (tensor.dtype != ACL_INT64) return static_cast<int64_t>(tensor.get(position));
  int64_t value;
  std::memcpy(&value, tensor.data.get() + position * static_cast<int64_t>(sizeof value), sizeof value);
  return value;
}

GoldenOutput new_output(const std::string& parameter, const Array& like, size_t list_index) {
  GoldenOutput output = {parameter, list_index, like.dtype, like.dims, {}, {}, {}};
  const auto elements = static_cast<size_t>(like.numel());
  try {
    output.exact.resize(elements);
    output.bound.resize(elements);
  } catch (const std::exception&) {
    reject(parameter + " has shape " + dims_text(like.dims) + ", for which the memory doesn't suffice");
  }
  return output;
}

GoldenOutput unchanged_output(const std::string& parameter, const Array& before, size_t list_index) {
  GoldenOutput output = new_output(parameter, before, list_index);
  before.widen(0, output.exact);
  return output;
}

}  // namespace openaclnn_verify
