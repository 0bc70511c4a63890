// Files of torch.save, in its zip format: one tensor, or a dictionary of tensors.
#pragma once

#include <string>
#include <vector>

#include "files/source.h"
#include "files/tensor_file.h"

namespace openaclnn_files {

// A tensor of the file as a view of one of its entries. All its elements lie inside the entry.
struct StoredView {
  std::string name;  // empty in a file of one tensor
  aclDataType dtype = ACL_DT_UNDEFINED;
  std::vector<int64_t> dims, strides;
  uint64_t begin = 0;       // offset of the first element in the file
  uint64_t span_bytes = 0;  // from the first to the last element
  uint64_t bytes = 0;       // of all elements without gaps
};

// Elements that share memory may make a tensor larger than its file, up to this size.
inline constexpr uint64_t kMostExpandedBytes = uint64_t{256} << 20;

// Throws BadInput with an error message about the file. Nothing in the file is executed.
std::vector<StoredView> parse_pt(const Source& file);

// Returns the tensor with this name, or the only one if the name is empty.
FileTensor read_pt(const Source& file, const std::string& name);

}  // namespace openaclnn_files
