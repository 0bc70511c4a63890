// NumPy's .npy files: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <string_view>

#include "files/source.h"
#include "files/stored_tensor.h"

namespace openaclnn_files {

inline constexpr size_t kMostNpyHeader = size_t{1} << 16;

// Bytes of a file that parse_npy() needs: magic, version, length and header.
inline constexpr size_t kNpyHead = kMostNpyHeader + 12;

// `head`: the first kNpyHead bytes of the file, or all of a shorter one. Throws BadInput with an error
// message about the file.
StoredTensor parse_npy(std::string_view head, uint64_t file_bytes);
StoredTensor read_npy_header(const Source& file);

}  // namespace openaclnn_files
