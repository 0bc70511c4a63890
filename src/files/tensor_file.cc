// Chooses the reader by the ending of the file, and brings elements into row-major order.
#include "files/tensor_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/dtype.h"
#include "files/bin.h"
#include "files/errors.h"
#include "files/npy.h"
#include "files/pt.h"
#include "files/safetensors.h"

namespace openaclnn_files {

namespace {

template <class Element>
void gather_as(const std::byte* storage, std::byte* to, const std::vector<int64_t>& dims,
               const std::vector<int64_t>& strides, int64_t count) {
  std::vector<int64_t> index(dims.size());
  int64_t at = 0;
  const size_t last = dims.size() - 1;
  for (int64_t done = 0; done < count; done += dims[last]) {
    for (int64_t k = 0; k < dims[last]; ++k)
      std::memcpy(to + (done + k) * static_cast<int64_t>(sizeof(Element)),
                  storage + (at + k * strides[last]) * static_cast<int64_t>(sizeof(Element)),
                  sizeof(Element));
    for (size_t k = last; k-- > 0;) {
      if (++index[k] < dims[k]) {
        at += strides[k];
        break;
      }
      at -= (dims[k] - 1) * strides[k];  // a dim of one element may have any stride
      index[k] = 0;
    }
  }
}

struct Sixteen {
  uint64_t parts[2];
};

// Finds the first place where a file with this ending ends: before a colon, or at the end. The name of a tensor may
// contain the ending again.
bool is_name_after(const std::string& source, std::string_view ending, TensorName& found) {
  for (size_t at = source.find(ending); at != std::string::npos; at = source.find(ending, at + 1)) {
    const std::string rest = source.substr(at + ending.size());
    if (!rest.empty() && rest[0] != ':') continue;
    found = {source.substr(0, at + ending.size()), rest.empty() ? "" : rest.substr(1)};
    return true;
  }
  return false;
}

FileTensor read_file(const TensorName& from) {
  const OpenFile file(from.path);
  if (from.path.ends_with(".pt")) return read_pt(file, from.name);
  return read_elements(file, read_header(file, from));
}

}  // namespace

TensorName split_source(const std::string& source) {
  TensorName found;
  if (is_name_after(source, ".safetensors", found) || is_name_after(source, ".pt", found)) return found;
  if (source.ends_with(".npy") || source.ends_with(".bin")) return {source, ""};
  throw BadInput(fmt::format("unrecognized tensor file; expected {}", kTensorFiles));
}

std::vector<std::byte> gather(const std::byte* storage, size_t element_bytes,
                              const std::vector<int64_t>& dims, const std::vector<int64_t>& strides) {
  int64_t count = 1;
  std::vector<int64_t> steps = strides;
  for (size_t k = 0; k < dims.size(); ++k) {
    count *= dims[k];
    if (dims[k] == 1) steps[k] = 0;  // the stride of a single element may be any number
  }
  std::vector<std::byte> bytes(static_cast<size_t>(count) * element_bytes);
  if (dims.empty()) std::memcpy(bytes.data(), storage, element_bytes);
  if (dims.empty() || count == 0) return bytes;
  switch (element_bytes) {
    case 1: gather_as<uint8_t>(storage, bytes.data(), dims, steps, count); break;
    case 2: gather_as<uint16_t>(storage, bytes.data(), dims, steps, count); break;
    case 4: gather_as<uint32_t>(storage, bytes.data(), dims, steps, count); break;
    case 8: gather_as<uint64_t>(storage, bytes.data(), dims, steps, count); break;
    default: gather_as<Sixteen>(storage, bytes.data(), dims, steps, count); break;
  }
  return bytes;
}

StoredTensor read_header(const Source& file, const TensorName& from) {
  if (from.path.ends_with(".npy")) return read_npy_header(file);
  if (from.path.ends_with(".bin")) return read_bin_header(file, from.path);
  return read_safetensors_header(file, from.name);
}

FileTensor read_elements(const Source& file, const StoredTensor& header) {
  std::vector<std::byte> elements(header.bytes);
  file.read(header.begin, elements.data(), header.bytes);
  return {header.dtype, header.dims, row_major(header, std::move(elements))};
}

std::vector<std::byte> row_major(const StoredTensor& header, std::vector<std::byte> elements) {
  if (!header.is_column_major || header.dims.size() < 2 || elements.empty()) return elements;
  return gather(elements.data(), openaclnn::dtype_size(header.dtype), header.dims, strides_of(header));
}

FileTensor read_tensor(const std::string& source) {
  try {
    return read_file(split_source(source));
  } catch (const BadInput& error) {
    throw BadInput(fmt::format("{}: {}", source, error.what()));
  }
}

}  // namespace openaclnn_files
