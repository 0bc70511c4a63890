// The table of arguments that have another name in Python than in C.
#pragma once

#include <string_view>

namespace openaclnn::python {

struct ArgumentName {
  std::string_view c, python;
  std::string_view function = "aclnn";  // the start of the message if the name is this argument's
};

inline constexpr ArgumentName kArgumentNames[] = {
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

}  // namespace openaclnn::python
