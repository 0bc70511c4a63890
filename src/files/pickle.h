// The pickles that torch.save writes for tensors, read without executing anything: only the opcodes and names of
// a fixed list are accepted, and every name is data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "acl/acl_base.h"

namespace openaclnn_files {

inline constexpr size_t kMostPickle = size_t{4} << 20;

// A tensor as a view of a storage. Nothing is checked but the kinds of the arguments.
struct PickledTensor {
  std::string storage;  // the name of its entry: "0"
  aclDataType dtype = ACL_DT_UNDEFINED;
  int64_t offset = 0;  // in elements of `dtype`
  std::vector<int64_t> dims, strides;
};

// The object of a pickle: one tensor without a name, or those of a dictionary with their keys.
using NamedTensors = std::vector<std::pair<std::string, PickledTensor>>;

// Throws BadInput with an error message about the file if the pickle has anything else.
NamedTensors parse_pickle(std::string_view pickle);

}  // namespace openaclnn_files
