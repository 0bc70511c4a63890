// The published numbers of mindstudio-probe 26.2.0, and the lists of 8.3.3.
#include "judge/msprobe.h"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string_view>

#include "base/text.h"
#include "verify/number.h"

namespace openaclnn_judge {

namespace {

constexpr MsprobeLimits kFloat16 = {0x1p-10, 0x1p-10, 1e-16, 0x1p-16, 0x1p-11, 0x1p-8, 0x1p-20};
constexpr MsprobeLimits kBfloat16 = {0x1p-10, 0x1p-8, 1e-16, 1e-16, 0x1p-8, 0x1p-7, 0x1p-7};
constexpr MsprobeLimits kFloat = {0x1p-20, 0x1p-20, 0x1p-30, 0x1p-30, 0x1p-14, 0x1p-11, 0x1p-14};

// A name that ends in ~ also stands for the in-place name with _.
constexpr std::string_view kAbsolute[] = {
    "mul~",        "__mul__", "__imul__", "__rmul__", "add~",    "__add__",     "__iadd__",
    "__radd__",    "div~",    "__div__",  "__idiv__", "divide~", "leaky_relu~", "prelu",
    "reciprocal~", "rsqrt~",  "square~",  "sub~",     "rsub",    "__isub__",    "__sub__"};
constexpr std::string_view kBinary[] = {
    "abs~",         "absolute~",  "argmin",  "bitwise_and~", "broadcast_to", "ceil~",          "equal",
    "fill_",        "flatten",    "floor~",  "gather",       "greater~",     "greater_equal~", "histc",
    "isfinite",     "isnan",      "less~",   "less_equal~",  "logical_and~", "logical_not~",   "logical_or~",
    "masked_fill~", "max_pool3d", "maximum", "minimum",      "neg~",         "nonzero",        "not_equal~",
    "one_hot",      "pad",        "relu",    "reshape",      "round~",       "select",         "sign~",
    "sort",         "tile",       "topk",    "transpose~",   "tril~",        "triu~",          "type_as"};
constexpr std::string_view kUlp[] = {"__matmul__", "addbmm~",      "addmm~", "baddbmm~", "bilinear",
                                     "bmm",        "chain_matmul", "hspmm",  "linear",   "matmul",
                                     "mm",         "mv",           "smm",    "sspaddmm"};
constexpr std::string_view kThousandth[] = {"conv1d", "conv2d"};
constexpr std::string_view kLevel1[] = {"embedding", "npu_fusion_attention", "npu_fusion_attention_grad",
                                        "scatter_", "scatter_add_"};
constexpr std::string_view kLevel2[] = {"addmm",
                                        "GELU",
                                        "layer_norm",
                                        "matmul",
                                        "mm",
                                        "index",
                                        "one_hot",
                                        "sum",
                                        "nonzero",
                                        "npu_rms_norm",
                                        "npu_rms_norm_backward",
                                        "npu_cross_entropy_loss",
                                        "npu_cross_entropy_loss_backward"};
constexpr std::string_view kQuantization[] = {"npu_rms_norm_dynamic_quant", "npu_dynamic_quant",
                                              "npu_quant_lightning_indexer"};

bool lists(std::span<const std::string_view> names, std::string_view api) {
  return std::ranges::any_of(names, [api](std::string_view name) {
    if (!name.ends_with('~')) return api == name;
    name.remove_suffix(1);
    return api == name || (api.ends_with('_') && api.substr(0, api.size() - 1) == name);
  });
}

}  // namespace

const MsprobeLimits& msprobe_limits(aclDataType dtype) {
  return dtype == ACL_FLOAT16 ? kFloat16 : dtype == ACL_BF16 ? kBfloat16 : kFloat;
}

RatioLimits ratio_limits(const std::string& level) {
  if (level == "L0") return {10, 2, 2};
  if (level == "L1") return {5, 1.5, 1.5};
  if (level == "L2") return {2, 1.2, 1.2};
  throw std::invalid_argument(openaclnn::text("the level is \"", level, "\"; it must be L0, L1 or L2"));
}

std::string level_of(const Settings& settings) {
  if (!settings.level.empty()) return settings.level;
  const std::string api = api_name(settings.api);
  return lists(kLevel1, api) ? "L1" : lists(kLevel2, api) ? "L2" : "L0";
}

std::string api_name(const std::string& api) {
  const size_t first = api.find('.');
  if (first == std::string::npos) return api;
  return api.substr(first + 1, api.find('.', first + 1) - first - 1);
}

bool is_quantization_api(const std::string& api) { return lists(kQuantization, api); }

const char* rule_of_api(const std::string& api) {
  if (lists(kAbsolute, api)) return "absolute";
  if (lists(kBinary, api)) return "binary";
  if (lists(kUlp, api)) return "ulp";
  return lists(kThousandth, api) ? "thousandth" : "benchmark";
}

double error_balance(const Array& device, const Array& golden) {
  const Precision precision(device.dtype, golden.dtype);
  int64_t balance = 0;
  for_each_element(device, golden, [&](double d, double exact) {
    const double g = precision.cast(exact);
    balance += d > g ? 1 : d < g ? -1 : 0;
  });
  return static_cast<double>(std::abs(balance)) / static_cast<double>(device.numel());
}

}  // namespace openaclnn_judge
