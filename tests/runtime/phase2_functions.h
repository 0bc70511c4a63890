// The phase 2 that belongs to a phase 1, by name.
#pragma once

#include <string>
#include <utility>

#include "aclnnop/aclnn_apply_adam_w.h"
#include "aclnnop/aclnn_apply_adam_w_v2.h"
#include "aclnnop/aclnn_embedding_dense_backward.h"
#include "aclnnop/aclnn_grouped_bias_add_grad.h"
#include "aclnnop/aclnn_nsa_compress.h"
#include "aclnnop/aclnn_nsa_compress_grad.h"
#include "aclnnop/aclnn_nsa_compress_with_cache.h"
#include "openaclnn/openaclnn.h"

namespace runtime_test {

using Phase2 = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);

// nullptr when there is none.
inline Phase2 phase2_of(const std::string& phase1) {
  const std::pair<const char*, Phase2> all[] = {
      {"aclnnApplyAdamW", aclnnApplyAdamW},
      {"aclnnApplyAdamWV2", aclnnApplyAdamWV2},
      {"aclnnApplyFusedEmaAdam", aclnnApplyFusedEmaAdam},
      {"aclnnEmbedding", aclnnEmbedding},
      {"aclnnEmbeddingDenseBackward", aclnnEmbeddingDenseBackward},
      {"aclnnGroupedBiasAddGrad", aclnnGroupedBiasAddGrad},
      {"aclnnGroupedBiasAddGradV2", aclnnGroupedBiasAddGradV2},
      {"aclnnNsaCompress", aclnnNsaCompress},
      {"aclnnNsaCompressGrad", aclnnNsaCompressGrad},
      {"aclnnNsaCompressWithCache", aclnnNsaCompressWithCache},
      {"openaclnnApplyFusedEmaAdamList", openaclnnApplyFusedEmaAdamList}};
  for (const auto& [name, function] : all) {
    if (phase1 == std::string(name) + "GetWorkspaceSize") return function;
  }
  return nullptr;
}

}  // namespace runtime_test
