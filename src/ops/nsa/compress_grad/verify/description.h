// The interface of NsaCompressGrad.
#pragma once

#include <vector>

#include "aclnnop/aclnn_nsa_compress_grad.h"
#include "verify/description.h"

namespace openaclnn_verify {

inline std::vector<Description> nsa_compress_grad_descriptions() {
  using namespace parameters;
  return {describe(
      "aclnnNsaCompressGrad", aclnnNsaCompressGradGetWorkspaceSize, aclnnNsaCompressGrad,
      {read("outputGrad"), read("input"), read("weight"), optional(read("actSeqLenOptionalOptional")),
       number("compressBlockSize"), number("compressStride"), number("actSeqLenType", "0"),
       optional(read("layoutOptionalOptional")), written("inputGradOut", like("input")),
       written("weightGradOut", like("weight"))})};
}

}  // namespace openaclnn_verify
