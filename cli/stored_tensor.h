// A tensor in a file, as its header describes it. Sizes are checked against the file before anything is allocated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "acl/acl_base.h"

namespace openaclnn_cli {

inline constexpr size_t kMostDims = 8;  // what operators accept

struct StoredTensor {
  std::string name;  // empty in a file of one tensor
  aclDataType dtype = ACL_DT_UNDEFINED;
  std::vector<int64_t> dims;
  bool is_column_major = false;
  uint64_t begin = 0;  // first byte in the file
  uint64_t bytes = 0;
};

// Bytes of the elements; throws BadInput when the count or the bytes leave int64. `what` begins the sentence.
uint64_t checked_bytes(const std::string& what, aclDataType dtype, const std::vector<int64_t>& dims);

}  // namespace openaclnn_cli
