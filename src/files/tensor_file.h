// Reads tensors of any accepted file into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "acl/acl_base.h"
#include "files/source.h"
#include "files/stored_tensor.h"

namespace openaclnn_files {

// The elements are in row-major order without gaps, and little-endian.
struct FileTensor {
  aclDataType dtype = ACL_DT_UNDEFINED;
  std::vector<int64_t> dims;
  std::vector<std::byte> bytes;
};

// Where a tensor is: a file, and a name if the file has several tensors.
struct TensorName {
  std::string path, name;
};

// The endings that read_tensor() accepts, for error messages.
inline constexpr const char* kTensorFiles = "FILE.npy, FILE.safetensors[:NAME], FILE.pt[:NAME] or FILE.bin";

// Splits "FILE.safetensors:NAME". Throws BadInput if the file has another ending.
TensorName split_source(const std::string& source);

// Reads one tensor. `source`: one of kTensorFiles. A .bin file has a header of its own or a shape file, see
// bin.h. Throws BadInput with an error message that starts with the source. Sizes are checked against the file
// before memory is allocated.
FileTensor read_tensor(const std::string& source);

// Reads the header of a tensor in a file whose elements lie in one piece: all but .pt files.
StoredTensor read_header(const Source& file, const TensorName& from);

// Reads the elements that a header describes, in row-major order.
FileTensor read_elements(const Source& file, const StoredTensor& header);

// Returns the elements of a file in row-major order.
std::vector<std::byte> row_major(const StoredTensor& header, std::vector<std::byte> elements);

// Copies the elements of a view from `storage` into row-major order. Strides are in elements, and the
// caller has checked that the view lies inside the storage.
std::vector<std::byte> gather(const std::byte* storage, size_t element_bytes,
                              const std::vector<int64_t>& dims, const std::vector<int64_t>& strides);

}  // namespace openaclnn_files
