// Files of named tensors: https://github.com/huggingface/safetensors
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files/source.h"
#include "files/stored_tensor.h"

namespace openaclnn_files {

inline constexpr size_t kMostSafetensorsHeader = size_t{16} << 20;

// Bytes of a file that parse_safetensors() needs: the length and the header.
inline constexpr size_t kSafetensorsHead = kMostSafetensorsHeader + 8;

// `head`: the first kSafetensorsHead bytes of the file, or all of a shorter one. Throws BadInput with an
// error message about the file. The dtype of a tensor is ACL_DT_UNDEFINED if no operator accepts it.
std::vector<StoredTensor> parse_safetensors(std::string_view head, uint64_t file_bytes);
// Returns the tensor with this name, or the only one if the name is empty.
StoredTensor read_safetensors_header(const Source& file, const std::string& name);

// Returns the bytes before the elements of these tensors, and sets `begin` of each to its position in the
// file.
std::string safetensors_header(std::span<StoredTensor> tensors);

// Returns whether the format has a name for the dtype.
bool has_safetensors_name(aclDataType dtype);

}  // namespace openaclnn_files
