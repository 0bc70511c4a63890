// The interface of NsaCompressGrad.
#pragma once

#include <vector>

#include "aclnnop/aclnn_nsa_compress_grad.h"
#include "verify/description.h"

namespace openaclnn_verify {

inline std::vector<Description> nsa_compress_grad_descriptions() {
  using namespace parameters;
  return {describe("aclnnNsaCompressGrad", aclnnNsaCompressGradGetWorkspaceSize, aclnnNsaCompressGrad,
                   {read("outputGrad", kFloatDtypes), read("input", dtype_of("outputGrad")),
                    read("weight", dtype_of("outputGrad")), optional(read("actSeqLenOptionalOptional")),
                    number("compressBlockSize"), number("compressStride"), number("actSeqLenType", "0"),
                    optional(read("layoutOptionalOptional")),
                    written("inputGradOut", dtype_of("outputGrad"), like("input")),
                    written("weightGradOut", dtype_of("outputGrad"), like("weight"))})};
}

}  // namespace openaclnn_verify
