// The prototypes of all operators as callers were compiled against them: wrong types do not compile.
#include <cstdint>
#include <type_traits>

#include "aclnn/aclnn_base.h"
#include "aclnnop/aclnn_apply_adam_w.h"
#include "aclnnop/aclnn_apply_adam_w_v2.h"
#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "aclnnop/aclnn_embedding.h"
#include "aclnnop/aclnn_embedding_dense_backward.h"
#include "aclnnop/aclnn_grouped_bias_add_grad.h"
#include "aclnnop/aclnn_nsa_compress.h"
#include "aclnnop/aclnn_nsa_compress_grad.h"
#include "aclnnop/aclnn_nsa_compress_with_cache.h"
#include "openaclnn/openaclnn.h"

namespace {

template <class Actual, class Expected>
constexpr bool same = std::is_same_v<Actual, Expected>;

using Phase2 = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);
static_assert(same<decltype(&aclnnApplyAdamWGetWorkspaceSize),
                   aclnnStatus (*)(aclTensor*, aclTensor*, aclTensor*, const aclTensor*, const aclTensor*,
                                   const aclTensor*, const aclTensor*, const aclTensor*, const aclTensor*,
                                   const aclTensor*, const aclTensor*, const aclTensor*, bool, bool,
                                   uint64_t*, aclOpExecutor**)>);
static_assert(same<decltype(&aclnnApplyAdamW), Phase2>);
static_assert(
    same<decltype(&aclnnApplyAdamWV2GetWorkspaceSize),
         aclnnStatus (*)(aclTensor*, aclTensor*, aclTensor*, aclTensor*, const aclTensor*, const aclTensor*,
                         float, float, float, float, float, bool, bool, uint64_t*, aclOpExecutor**)>);
static_assert(same<decltype(&aclnnApplyAdamWV2), Phase2>);
static_assert(same<decltype(&aclnnApplyFusedEmaAdamGetWorkspaceSize),
                   aclnnStatus (*)(const aclTensor*, aclTensor*, aclTensor*, aclTensor*, aclTensor*,
                                   const aclTensor*, double, double, double, double, double, int64_t, bool,
                                   double, uint64_t*, aclOpExecutor**)>);
static_assert(same<decltype(&aclnnApplyFusedEmaAdam), Phase2>);
static_assert(
    same<decltype(&aclnnEmbeddingGetWorkspaceSize),
         aclnnStatus (*)(const aclTensor*, const aclTensor*, const aclTensor*, uint64_t*, aclOpExecutor**)>);
static_assert(same<decltype(&aclnnEmbedding), Phase2>);
static_assert(same<decltype(&aclnnEmbeddingDenseBackwardGetWorkspaceSize),
                   aclnnStatus (*)(const aclTensor*, const aclTensor*, uint64_t, uint64_t, bool,
                                   const aclTensor*, uint64_t*, aclOpExecutor**)>);
static_assert(same<decltype(&aclnnEmbeddingDenseBackward), Phase2>);
static_assert(
    same<decltype(&aclnnGroupedBiasAddGradGetWorkspaceSize),
         aclnnStatus (*)(const aclTensor*, const aclTensor*, aclTensor*, uint64_t*, aclOpExecutor**)>);
static_assert(same<decltype(&aclnnGroupedBiasAddGrad), Phase2>);
static_assert(same<decltype(&aclnnGroupedBiasAddGradV2GetWorkspaceSize),
                   aclnnStatus (*)(const aclTensor*, const aclTensor*, int64_t, aclTensor*, uint64_t*,
                                   aclOpExecutor**)>);
static_assert(same<decltype(&aclnnGroupedBiasAddGradV2), Phase2>);
static_assert(same<decltype(&aclnnNsaCompressGetWorkspaceSize),
                   aclnnStatus (*)(const aclTensor*, const aclTensor*, const aclIntArray*, char*, int64_t,
                                   int64_t, int64_t, aclTensor*, uint64_t*, aclOpExecutor**)>);
static_assert(same<decltype(&aclnnNsaCompress), Phase2>);
static_assert(same<decltype(&aclnnNsaCompressGradGetWorkspaceSize),
                   aclnnStatus (*)(const aclTensor*, const aclTensor*, const aclTensor*, const aclIntArray*,
                                   int64_t, int64_t, int64_t, char*, const aclTensor*, const aclTensor*,
                                   uint64_t*, aclOpExecutor**)>);
static_assert(same<decltype(&aclnnNsaCompressGrad), Phase2>);
static_assert(same<decltype(&aclnnNsaCompressWithCacheGetWorkspaceSize),
                   aclnnStatus (*)(const aclTensor*, const aclTensor*, const aclTensor*, const aclIntArray*,
                                   const aclTensor*, char*, int64_t, int64_t, int64_t, int64_t, aclTensor*,
                                   uint64_t*, aclOpExecutor**)>);
static_assert(same<decltype(&aclnnNsaCompressWithCache), Phase2>);
static_assert(
    same<decltype(&openaclnnApplyFusedEmaAdamListGetWorkspaceSize),
         aclnnStatus (*)(const aclTensorList*, aclTensorList*, aclTensorList*, aclTensorList*, aclTensorList*,
                         aclTensorList*, const aclTensor*, const aclTensor*, const aclTensor*, double, double,
                         double, double, double, int64_t, bool, double, uint64_t*, aclOpExecutor**)>);
static_assert(same<decltype(&openaclnnApplyFusedEmaAdamList), Phase2>);
static_assert(same<decltype(&openaclnnReleaseMemory), aclError (*)()>);
static_assert(same<decltype(&openaclnnCreateStreamFromNative), aclError (*)(void*, aclrtStream*)>);

}  // namespace
