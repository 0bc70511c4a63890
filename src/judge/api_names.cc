// The table of functions.
#include "judge/api_names.h"

#include <algorithm>

#include "base/function_name.h"
#include "judge/words.h"
#include "verify/room_descriptions.h"

namespace openaclnn_judge {

namespace {

using enum ArgumentUse;

const std::vector<std::string> kFunctional = {"Functional", "MintFunctional"};

// Positional arguments after the tensors of token compression.
std::vector<ApiArgument> with_windows(std::vector<ApiArgument> arguments, const std::string& lengths) {
  arguments.push_back({"compress_block_size", {"compressBlockSize"}});
  arguments.push_back({"compress_stride", {"compressStride"}});
  arguments.push_back({"actual_seq_len", {lengths}});
  return arguments;
}

std::vector<ApiArgument> adam_w_arguments(std::vector<ApiArgument> updated) {
  std::vector<ApiArgument> arguments = {{"beta1_power", {"beta1Power"}},
                                        {"beta2_power", {"beta2Power"}},
                                        {"lr", {"lr"}},
                                        {"weight_decay", {"weightDecay"}},
                                        {"beta1", {"beta1"}},
                                        {"beta2", {"beta2"}},
                                        {"epsilon", {"eps"}},
                                        {"grad", {"grad"}},
                                        {"max_grad_norm", {"maxGradNormOptional"}},
                                        {"amsgrad", {"amsgrad"}},
                                        {"maximize", {"maximize"}}};
  arguments.insert(arguments.end(), updated.begin(), updated.end());
  return arguments;
}

Api ema_adam(const std::string& name) {
  return {name,
          {},
          "aclnnApplyFusedEmaAdam",
          {{"grad", {"grad"}},
           {"var", {"varRef"}},
           {"m", {"mRef"}},
           {"v", {"vRef"}},
           {"s", {"sRef"}},
           {"step", {"step"}},
           {"lr", {"lr"}},
           {"ema_decay", {"emaDecay"}},
           {"beta1", {"beta1"}},
           {"beta2", {"beta2"}},
           {"eps", {"eps"}},
           {"mode", {"mode"}},
           {"bias_correction", {"biasCorrection"}},
           {"weight_decay", {"weightDecay"}}},
          {"varRef", "mRef", "vRef", "sRef"}};
}

Api grouped_bias(const std::string& name) {
  return {name,
          {},
          "aclnnGroupedBiasAddGradV2",
          {{"grad_y", {"gradY"}}, {"group_idx", {"groupIdxOptional"}}, {"group_idx_type", {"groupIdxType"}}},
          {"out"}};
}

std::vector<Api> make_apis() {
  return {
      {"npu_nsa_compress",
       {},
       "aclnnNsaCompress",
       with_windows({{"input", {"input"}}, {"weight", {"weight"}}}, "actSeqLenOptional"),
       {"output"}},
      {"npu_nsa_compress",
       {},
       "aclnnNsaCompressGrad",
       with_windows({{"input", {"input"}}, {"weight", {"weight"}}}, "actSeqLenOptionalOptional"),
       {"inputGradOut", "weightGradOut"},
       "outputGrad"},
      {"npu_nsa_compress_grad",
       {},
       "aclnnNsaCompressGrad",
       with_windows({{"grad", {"outputGrad"}}, {"input", {"input"}}, {"weight", {"weight"}}},
                    "actSeqLenOptionalOptional"),
       {"inputGradOut", "weightGradOut"}},
      {"npu_nsa_compress_infer",
       {},
       "aclnnNsaCompressWithCache",
       {{"input", {"input"}},
        {"weight", {"weight"}},
        {"slot_mapping", {"slotMapping"}},
        {"compress_block_size", {"compressBlockSize"}},
        {"compress_stride", {"compressStride"}},
        {"page_block_size", {"pageBlockSize"}},
        {"block_table", {"blockTableOptional"}},
        {"actual_seq_len", {"actSeqLenOptional"}},
        {"cache", {"outputCache"}}},
       {"outputCache"}},
      ema_adam("npu_apply_fused_ema_adamw"),
      ema_adam("npu_fused_ema_adamw"),
      {"npu_apply_adam_w",
       {},
       "aclnnApplyAdamW",
       adam_w_arguments({{"out", {"varRef", "mRef", "vRef"}}}),
       {"varRef", "mRef", "vRef"}},
      {"npu_apply_adam_w_out",
       {},
       "aclnnApplyAdamW",
       adam_w_arguments({{"var", {"varRef"}}, {"m", {"mRef"}}, {"v", {"vRef"}}}),
       {"varRef", "mRef", "vRef"}},
      grouped_bias("npu_grouped_bias_add_grad"),
      grouped_bias("grouped_bias_add_grad"),
      {"embedding",
       kFunctional,
       "aclnnEmbedding",
       {{"input", {"indices"}},
        {"weight", {"weight"}},
        {"padding_idx", {}, ignored},
        {"max_norm", {}, must_be_unset},
        {"norm_type", {}, ignored},
        {"scale_grad_by_freq", {}, ignored},
        {"sparse", {}, ignored}},
       {"out"}},
      {"embedding",
       kFunctional,
       "aclnnEmbeddingDenseBackward",
       {{"input", {"indices"}},
        {"weight", {"numWeights"}, rows},
        {"padding_idx", {"paddingIdx", "numWeights"}, row_or_none},
        {"max_norm", {}, must_be_unset},
        {"norm_type", {}, ignored},
        {"scale_grad_by_freq", {"scaleGradByFreq"}},
        {"sparse", {}, must_be_unset}},
       {"out"},
       "grad"},
      {"embedding",
       {"Torch", "Aten"},
       "aclnnEmbedding",
       {{"weight", {"weight"}},
        {"indices", {"indices"}},
        {"padding_idx", {}, ignored},
        {"scale_grad_by_freq", {}, ignored},
        {"sparse", {}, ignored}},
       {"out"}},
      {"embedding",
       {"Torch", "Aten"},
       "aclnnEmbeddingDenseBackward",
       {{"weight", {"numWeights"}, rows},
        {"indices", {"indices"}},
        {"padding_idx", {"paddingIdx"}},
        {"scale_grad_by_freq", {"scaleGradByFreq"}},
        {"sparse", {}, must_be_unset}},
       {"out"},
       "grad"},
      {"embedding_dense_backward",
       {},
       "aclnnEmbeddingDenseBackward",
       {{"grad_output", {"grad"}},
        {"indices", {"indices"}},
        {"num_weights", {"numWeights"}},
        {"padding_idx", {"paddingIdx"}},
        {"scale_grad_by_freq", {"scaleGradByFreq"}}},
       {"out"}},
  };
}

// An operator by its own name, such as "NsaCompress". Positional arguments are its tensors.
Api operator_api(const openaclnn_verify::Description& description) {
  Api api;
  api.name = description.name();
  api.function = description.function;
  api.is_operator = true;
  for (const bool is_tensor : {true, false}) {
    for (const openaclnn_verify::Parameter& parameter : description.parameters) {
      if (parameter.is_tensor() == is_tensor && parameter.role != openaclnn_verify::Role::output)
        api.arguments.push_back({parameter.name, {parameter.name}});
    }
  }
  for (const openaclnn_verify::Parameter& parameter : description.parameters) {
    if (parameter.is_result()) api.results.push_back(parameter.name);
  }
  return api;
}

const std::vector<Api>& all_apis() {
  static const std::vector<Api> all = [] {
    std::vector<Api> made = make_apis();
    for (const openaclnn_verify::Description& description : openaclnn_verify::descriptions())
      made.push_back(operator_api(description));
    return made;
  }();
  return all;
}

// Returns the part after the last dot, and removes it with the dot.
std::string_view take_last(std::string_view& text) {
  const size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view last = text.substr(dot + 1);
  text.remove_suffix(last.size() + 1);
  return last;
}

}  // namespace

bool parse_api_key(std::string_view text, ApiKey& key) {
  std::string_view rest = text;
  const std::string_view direction = take_last(rest);
  if (direction != "forward" && direction != "backward") return false;
  key.call = rest;
  key.is_backward = direction == "backward";
  if (!is_number(take_last(rest))) return false;
  std::string_view name = take_last(rest);
  if (name == "default") name = take_last(rest);  // an overload: "Aten.embedding.default.0.forward"
  name = openaclnn::without_aclnn(name);
  key.name = name;
  key.prefix = rest.substr(0, rest.find('.'));
  return !name.empty() && key.prefix != "Module" && key.prefix != "Cell";
}

const Api* find_api(const ApiKey& key) {
  const std::vector<Api>& apis = all_apis();
  const auto found = std::ranges::find_if(apis, [&](const Api& api) {
    return api.name == key.name && api.is_backward() == key.is_backward &&
           (api.prefixes.empty() || std::ranges::count(api.prefixes, key.prefix) > 0);
  });
  return found == apis.end() ? nullptr : &*found;
}

}  // namespace openaclnn_judge
