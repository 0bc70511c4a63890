// Translates names of arguments in error messages, word by word.
#include "names.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace openaclnn::python {

namespace {

struct Argument {
  std::string_view c, python;
  std::string_view function = "aclnn";  // the start of the message if the name is this argument's
};

constexpr Argument kArguments[] = {
    {"actSeqLenOptional", "actual_seq_len"},
    {"actSeqLenOptionalOptional", "actual_seq_len"},
    {"actSeqLenType", "actual_seq_len_type"},
    {"biasCorrection", "bias_correction"},
    {"blockTableOptional", "block_table"},
    {"compressBlockSize", "compress_block_size"},
    {"compressStride", "compress_stride"},
    {"emaDecay", "ema_decay"},
    {"foundInfOptional", "found_inf"},
    {"gradScaleOptional", "grad_scale"},
    {"gradY", "grad_y"},
    {"grads", "grad"},
    {"groupIdx", "group_idx"},
    {"groupIdxOptional", "group_idx"},
    {"groupIdxType", "group_idx_type"},
    {"inputGradOut", "out[0]"},
    {"mRef", "m"},
    {"mRefs", "m"},
    {"maxGradNormOptional", "max_grad_norm"},
    {"maxGradNormOptionalRef", "max_v"},
    {"numWeights", "num_weights"},
    {"output", "out", "aclnnNsaCompressGetWorkspaceSize"},
    {"outputCache", "cache"},
    {"outputGrad", "grad"},
    {"paddingIdx", "padding_idx"},
    {"pageBlockSize", "page_block_size"},
    {"sRef", "s"},
    {"sRefs", "s"},
    {"scaleGradByFreq", "scale_grad_by_freq"},
    {"slotMapping", "slot_mapping"},
    {"step", "steps_done", "aclnnApplyAdamWV2"},
    {"vRef", "v"},
    {"vRefs", "v"},
    {"varCopiesOptional", "var_copy"},
    {"varRef", "var"},
    {"varRefs", "var"},
    {"weightDecay", "weight_decay"},
    {"weightGradOut", "out[1]"},
};

bool is_part_of_a_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

std::string with_python_names(std::string_view sentence) {
  std::string text;
  size_t position = 0;
  while (position < sentence.size()) {
    size_t end = position;
    while (end < sentence.size() && is_part_of_a_word(sentence[end])) ++end;
    const std::string_view word = sentence.substr(position, end - position);
    const auto* const found = std::ranges::find_if(kArguments, [&](const Argument& argument) {
      return argument.c == word && sentence.find(argument.function) != std::string_view::npos;
    });
    text += found != std::end(kArguments) ? found->python : word;
    if (end < sentence.size()) text += sentence[end++];
    position = end;
  }
  return text;
}

}  // namespace openaclnn::python
