// NsaCompressWithCache as a schema: a valid call, the faults of its own rules, and which calls phase 1 accepts.
#pragma once

#include <string>
#include <vector>

#include "ops/nsa_compress_with_cache/cases.h"
#include "support/phase1_faults.h"

namespace openaclnn_test {
namespace nsa_compress_with_cache_schema {

inline std::string refusal(const CallArguments& a) {
  const TensorArgument &self = a.tensors[kNsaCompressWithCacheSelf],
                       &out = a.tensors[kNsaCompressWithCacheOut];
  if (!has_dtype(self, {ACL_FLOAT, ACL_FLOAT16, ACL_BF16})) return says_dtype(self);
  if (out.dtype != self.dtype) return says_dtype(out);
  return out.dims == self.dims ? "" : says_shape(out);
}

inline Schema nsa_compress_with_cache_test() {
  Schema test;
  test.function = "aclnnNsaCompressWithCacheGetWorkspaceSize";
  test.valid.tensors = {{.name = "self", .dims = {4, 8}},
                        {.name = "out", .role = Role::output, .dims = {4, 8}}};
  test.phase1 = [](const CallHandles& call, uint64_t* workspace_bytes, aclOpExecutor** executor) {
    return nsa_compress_with_cache_phase1(call.tensors, workspace_bytes, executor);
  };
  test.refusal = refusal;
  test.faults = {
      bad_dtype("out = self", kNsaCompressWithCacheOut, ACL_BF16,
                {"out has dtype ACL_BF16 but self has dtype ACL_FLOAT"}),
      bad_dims("out = self", kNsaCompressWithCacheOut, {4, 9},
               {"out has shape [4, 9] but self has shape [4, 8]"}),
  };
  return test;
}

}  // namespace nsa_compress_with_cache_schema

inline std::vector<Schema> nsa_compress_with_cache_schemas() {
  return {nsa_compress_with_cache_schema::nsa_compress_with_cache_test()};
}

}  // namespace openaclnn_test
