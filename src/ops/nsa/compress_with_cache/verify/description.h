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
                   {read("input"), read("weight"), read("slotMapping"), optional(read("actSeqLenOptional")),
                    optional(read("blockTableOptional")), optional(read("layoutOptional")),
                    number("compressBlockSize"), number("compressStride"), number("actSeqLenType", "1"),
                    number("pageBlockSize", "0"), updated("outputCache")})};
}

}  // namespace openaclnn_verify
