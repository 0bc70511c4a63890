// Conditions for every tensor that a reader accepts, and for every error message that rejects a file.
#pragma once

#include <string>

#include "base/dtype.h"
#include "files/stored_tensor.h"
#include "fuzz/found.h"

namespace openaclnn_test {

inline void require_inside(const openaclnn_files::StoredTensor& tensor, uint64_t file_bytes) {
  require(tensor.dims.size() <= openaclnn_files::kMostDims, "too many dims are accepted");
  unsigned __int128 bytes = openaclnn::dtype_size(tensor.dtype);
  require(bytes > 0, "a dtype without size is accepted");
  for (const int64_t dim : tensor.dims) {
    require(dim >= 0, "a negative dim is accepted");
    bytes = bytes > file_bytes ? file_bytes + 1 : bytes;  // stays small, and invalid
    bytes *= static_cast<unsigned __int128>(dim);
  }
  for (const int64_t dim : tensor.dims) bytes = dim == 0 ? 0 : bytes;
  require(bytes == tensor.bytes, "the bytes are not those of the shape");
  require(tensor.begin <= file_bytes && tensor.bytes <= file_bytes - tensor.begin,
          "a tensor leaves its file");
}

inline void require_sentence(const std::string& sentence) {
  require(!sentence.empty() && sentence.size() < 1000, "a refusal says nothing, or too much");
}

}  // namespace openaclnn_test
