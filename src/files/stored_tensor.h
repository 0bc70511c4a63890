// A tensor in a file, as its header describes it. Sizes are checked against the file before memory is
// allocated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "acl/acl_base.h"
#include "base/max_rank.h"

namespace openaclnn_files {

inline constexpr size_t kMostDims = openaclnn::kMaxRank;

struct StoredTensor {
  std::string name;  // empty in a file of one tensor
  aclDataType dtype = ACL_DT_UNDEFINED;
  std::vector<int64_t> dims;
  bool is_column_major = false;
  uint64_t begin = 0;  // offset of the first byte in the file
  uint64_t bytes = 0;
};

// Returns the size of the elements in bytes. Throws BadInput if the count or the size exceeds int64. `what`
// starts the error message.
uint64_t checked_bytes(const std::string& what, aclDataType dtype, const std::vector<int64_t>& dims);

// Returns the strides of the elements in the file, in elements. Those of empty tensors do not matter, and the product of their other dims
// may exceed 64 bits.
std::vector<int64_t> strides_of(const StoredTensor& tensor);

// Returns the tensor with this name, or the only one if the name is empty. Throws BadInput otherwise.
StoredTensor choose_tensor(std::vector<StoredTensor> tensors, const std::string& name);

}  // namespace openaclnn_files
