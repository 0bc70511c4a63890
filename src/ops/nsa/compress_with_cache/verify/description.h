// The interface of NsaCompressWithCache.
#pragma once

#include <vector>

#include "aclnnop/aclnn_nsa_compress_with_cache.h"
#include "verify/description.h"

namespace openaclnn_verify {

inline std::vector<Description> nsa_compress_with_cache_descriptions() {
  using namespace parameters;
  return {describe("aclnnNsaCompressWithCache", aclnnNsaCompressWithCacheGetWorkspaceSize,
                   aclnnNsaCompressWithCache,
                   {read("input", kFloatDtypes), read("weight", dtype_of("input")),
                    read("slotMapping", ACL_INT32), optional(read("actSeqLenOptional")),
                    optional(read("blockTableOptional", ACL_INT32)), optional(read("layoutOptional")),
                    number("compressBlockSize"), number("compressStride"), number("actSeqLenType", "1"),
                    number("pageBlockSize", "0"), updated("outputCache", dtype_of("input"))})};
}

}  // namespace openaclnn_verify
