// Raw .bin files: ATB's, whose text header describes the elements, and files of elements alone with a shape file.
#pragma once

#include <string>
#include <string_view>

#include "files/source.h"
#include "files/stored_tensor.h"

namespace openaclnn_files {

inline constexpr uint64_t kMostBinHeader = uint64_t{1} << 16;

// `head`: the first kMostBinHeader bytes of an ATB file, or all of a shorter one: lines name=value up to
// $End=1, then the elements. Throws BadInput with an error message about the file.
StoredTensor parse_atb(std::string_view head, uint64_t file_bytes);

// `json`: the text of the shape file, such as {"dtype": "float16", "shape": [2, 3]}. Throws BadInput.
StoredTensor parse_shape_file(std::string_view json, uint64_t file_bytes);

// The same for the shape file at `path`.
StoredTensor read_shape_file(const std::string& path, uint64_t file_bytes);

// Returns the header of FILE.bin, from FILE.json if it exists, otherwise from the file itself.
StoredTensor read_bin_header(const Source& file, const std::string& path);

}  // namespace openaclnn_files
