// The descriptions. Kinds come from the prototypes; here stand the names, roles, defaults, and how results follow from arguments.
#include "operators.h"

#include <fmt/core.h>

#include <algorithm>

#include "aclnnop/aclnn_apply_adam_w.h"
#include "aclnnop/aclnn_apply_adam_w_v2.h"
#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "aclnnop/aclnn_embedding.h"
#include "aclnnop/aclnn_embedding_dense_backward.h"
#include "aclnnop/aclnn_grouped_bias_add_grad.h"
#include "aclnnop/aclnn_nsa_compress.h"
#include "aclnnop/aclnn_nsa_compress_grad.h"
#include "aclnnop/aclnn_nsa_compress_with_cache.h"
#include "base/window_count.h"
#include "openaclnn/openaclnn.h"
#include "prototype.h"

namespace openaclnn_cli {

namespace {

using Dims = std::vector<int64_t>;

std::vector<StoredTensor> result(aclDataType dtype, Dims dims) {
  StoredTensor tensor;
  tensor.dtype = dtype;
  tensor.dims = std::move(dims);
  return {tensor};
}

const Dims& require_rank(const Arguments& a, const std::string& name, size_t rank) {
  const Dims& dims = a.tensor(name).dims;
  if (dims.size() != rank)
    throw BadInput(fmt::format("{} has rank {}; it must be {}", name, dims.size(), rank));
  return dims;
}

std::vector<StoredTensor> gathered_rows(const Arguments& a) {
  Dims dims = a.tensor("indices").dims;
  dims.push_back(require_rank(a, "weight", 2)[1]);
  return result(a.tensor("weight").dtype, dims);
}

std::vector<StoredTensor> table_gradient(const Arguments& a) {
  const Dims& grad = a.tensor("grad").dims;
  if (grad.empty()) throw BadInput("grad has rank 0; it must be at least 1");
  return result(a.tensor("grad").dtype, {a.integer("numWeights"), grad.back()});
}

std::vector<StoredTensor> bias_gradient(const Arguments& a) {
  const aclDataType dtype = a.tensor("gradY").dtype;
  if (a.has("groupIdxOptional"))
    return result(dtype, {require_rank(a, "groupIdxOptional", 1)[0], require_rank(a, "gradY", 2)[1]});
  const Dims& dims = require_rank(a, "gradY", 3);
  return result(dtype, {dims[0], dims[2]});
}

// One token for each window. Without lengths the number of windows decides how many sequences there are, and here it is what must be
// found: all tokens are one sequence.
std::vector<StoredTensor> compressed_tokens(const Arguments& a) {
  const Dims& tokens = require_rank(a, "input", 3);
  const openaclnn::WindowShape shape = {a.integer("compressBlockSize"), a.integer("compressStride")};
  if (shape.block < 1 || shape.stride < 1)
    throw BadInput("compressBlockSize and compressStride must be at least 1");
  const auto given = a.integers.find("actSeqLenOptional");
  openaclnn::SequenceEntries sequences = {{}, a.integer("actSeqLenType") == 0, tokens[0]};
  if (given != a.integers.end()) sequences.entries = given->second;
  return result(a.tensor("input").dtype,
                {openaclnn::count_all_windows(sequences, shape), tokens[1], tokens[2]});
}

Infer like(const char* name) {
  return [name](const Arguments& a) { return result(a.tensor(name).dtype, a.tensor(name).dims); };
}

Parameter read(const char* name) { return {name}; }
Parameter optional(const char* name) { return {.name = name, .is_optional = true}; }
Parameter updated(const char* name) { return {.name = name, .use = Use::updated}; }
Parameter number(const char* name, const char* fallback = "") { return {.name = name, .fallback = fallback}; }
Parameter written(const char* name, Infer infer) {
  return {.name = name, .use = Use::written, .infer = std::move(infer)};
}

std::vector<Parameter> with_adam_attributes(std::vector<Parameter> parameters) {
  for (const Parameter& attribute :
       {number("lr", "1e-3"), number("emaDecay", "0.9999"), number("beta1", "0.9"), number("beta2", "0.999"),
        number("eps", "1e-8"), number("mode", "1"), number("biasCorrection", "true"),
        number("weightDecay", "0")})
    parameters.push_back(attribute);
  return parameters;
}

std::vector<Description> make_descriptions() {
  const std::vector<Parameter> groups = {read("gradY"), optional("groupIdxOptional")};
  return {
      describe("ApplyFusedEmaAdam", "apply_fused_ema_adam", aclnnApplyFusedEmaAdamGetWorkspaceSize,
               aclnnApplyFusedEmaAdam,
               with_adam_attributes({read("grad"), updated("varRef"), updated("mRef"), updated("vRef"),
                                     updated("sRef"), read("step")})),
      describe("ApplyFusedEmaAdamList", "apply_fused_ema_adam_list",
               openaclnnApplyFusedEmaAdamListGetWorkspaceSize, openaclnnApplyFusedEmaAdamList,
               with_adam_attributes({read("grads"),
                                     updated("varRefs"),
                                     updated("mRefs"),
                                     updated("vRefs"),
                                     updated("sRefs"),
                                     {.name = "varCopiesOptional", .use = Use::updated, .is_optional = true},
                                     read("step"),
                                     optional("gradScaleOptional"),
                                     optional("foundInfOptional")})),
      describe("ApplyAdamW", "apply_adam_w", aclnnApplyAdamWGetWorkspaceSize, aclnnApplyAdamW,
               {updated("varRef"), updated("mRef"), updated("vRef"), read("beta1Power"), read("beta2Power"),
                read("lr"), read("weightDecay"), read("beta1"), read("beta2"), read("eps"), read("grad"),
                optional("maxGradNormOptional"), number("amsgrad", "false"), number("maximize", "false")}),
      describe("ApplyAdamWV2", "apply_adam_w", aclnnApplyAdamWV2GetWorkspaceSize, aclnnApplyAdamWV2,
               {updated("varRef"),
                updated("mRef"),
                updated("vRef"),
                {.name = "maxGradNormOptionalRef", .use = Use::updated, .is_optional = true},
                read("grad"),
                read("step"),
                number("lr", "1e-3"),
                number("beta1", "0.9"),
                number("beta2", "0.999"),
                number("weightDecay", "0"),
                number("eps", "1e-8"),
                number("amsgrad", "false"),
                number("maximize", "false")}),
      describe("Embedding", "embedding", aclnnEmbeddingGetWorkspaceSize, aclnnEmbedding,
               {read("weight"), read("indices"), written("out", gathered_rows)}),
      describe("EmbeddingDenseBackward", "embedding_dense_backward",
               aclnnEmbeddingDenseBackwardGetWorkspaceSize, aclnnEmbeddingDenseBackward,
               {read("grad"), read("indices"), number("numWeights"), number("paddingIdx", "-1"),
                number("scaleGradByFreq", "false"), written("out", table_gradient)}),
      describe("GroupedBiasAddGrad", "grouped_bias_add_grad", aclnnGroupedBiasAddGradGetWorkspaceSize,
               aclnnGroupedBiasAddGrad, {groups[0], groups[1], written("out", bias_gradient)}),
      describe("GroupedBiasAddGradV2", "grouped_bias_add_grad", aclnnGroupedBiasAddGradV2GetWorkspaceSize,
               aclnnGroupedBiasAddGradV2,
               {groups[0], groups[1], number("groupIdxType", "0"), written("out", bias_gradient)}),
      describe("NsaCompress", "nsa_compress", aclnnNsaCompressGetWorkspaceSize, aclnnNsaCompress,
               {read("input"), read("weight"), optional("actSeqLenOptional"), optional("layoutOptional"),
                number("compressBlockSize"), number("compressStride"), number("actSeqLenType", "0"),
                written("output", compressed_tokens)}),
      describe("NsaCompressGrad", "nsa_compress_grad", aclnnNsaCompressGradGetWorkspaceSize,
               aclnnNsaCompressGrad,
               {read("outputGrad"), read("input"), read("weight"), optional("actSeqLenOptionalOptional"),
                number("compressBlockSize"), number("compressStride"), number("actSeqLenType", "0"),
                optional("layoutOptionalOptional"), written("inputGradOut", like("input")),
                written("weightGradOut", like("weight"))}),
      describe("NsaCompressWithCache", "nsa_compress_with_cache", aclnnNsaCompressWithCacheGetWorkspaceSize,
               aclnnNsaCompressWithCache,
               {read("input"), read("weight"), read("slotMapping"), optional("actSeqLenOptional"),
                optional("blockTableOptional"), optional("layoutOptional"), number("compressBlockSize"),
                number("compressStride"), number("actSeqLenType", "1"), number("pageBlockSize", "0"),
                updated("outputCache")}),
  };
}

}  // namespace

std::string Parameter::option() const {
  std::string word = name;
  for (const char* ending : {"Optional", "Optional", "Refs", "Ref", "Out"}) {
    const std::string_view cut = ending;
    // vRefs is --v of the list operator as vRef is of the single one.
    if (word.size() > cut.size() && word.ends_with(cut)) word.erase(word.size() - cut.size());
  }
  std::string option = "--";
  for (const char c : word) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0) option += '-';
    option += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return option;
}

const Parameter* Description::find(const std::string& parameter) const {
  const auto found = std::ranges::find(parameters, parameter, &Parameter::name);
  return found != parameters.end() ? &*found : nullptr;
}

std::span<const Description> descriptions() {
  static const std::vector<Description> all = make_descriptions();
  return all;
}

}  // namespace openaclnn_cli
