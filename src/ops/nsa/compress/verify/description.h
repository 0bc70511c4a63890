// The interface of NsaCompress.
#pragma once

#include <stdexcept>
#include <vector>

#include "aclnnop/aclnn_nsa_compress.h"
#include "base/window_count.h"
#include "verify/description.h"

namespace openaclnn_verify {

// One token for each window. Without lengths, the number of windows determines the number of sequences. Here
// that number is unknown, so all tokens are one sequence.
inline TensorShape compressed_tokens(const Arguments& a) {
  const Shape& tokens = a.dims_of_rank("input", 3);
  const openaclnn::WindowShape shape = {a.integer("compressBlockSize"), a.integer("compressStride")};
  if (shape.block < 1 || shape.stride < 1) {
    throw std::invalid_argument("compressBlockSize is " + std::to_string(shape.block) +
                                " and compressStride is " + std::to_string(shape.stride) +
                                "; both must be at least 1");
  }
  const auto given = a.integers.find("actSeqLenOptional");
  openaclnn::SequenceEntries sequences = {{}, a.integer("actSeqLenType") == 0, tokens[0]};
  if (given != a.integers.end()) sequences.entries = given->second;
  return {a.tensor("input").dtype, {openaclnn::count_all_windows(sequences, shape), tokens[1], tokens[2]}};
}

inline std::vector<Description> nsa_compress_descriptions() {
  using namespace parameters;
  return {describe(
      "aclnnNsaCompress", aclnnNsaCompressGetWorkspaceSize, aclnnNsaCompress,
      {read("input", kFloatDtypes), read("weight", dtype_of("input")), optional(read("actSeqLenOptional")),
       optional(read("layoutOptional")), number("compressBlockSize"), number("compressStride"),
       number("actSeqLenType", "0"), written("output", dtype_of("input"), compressed_tokens)})};
}

}  // namespace openaclnn_verify
