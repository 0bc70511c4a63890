// Constants, levels and lists of APIs of msprobe.
#pragma once

#include <string>

#include "judge/elements.h"

namespace openaclnn_judge {

struct MsprobeLimits {
  double small_value;      // elements up to this magnitude are small
  double relative;         // absolute rule
  double benchmark_small;  // error limit of small elements: benchmark rule
  double absolute_small;   // and absolute rule
  double ratio_floor;      // the least denominator of ratios
  double accumulative, balance;
};
const MsprobeLimits& msprobe_limits(aclDataType dtype);

struct RatioLimits {
  double largest, mean, rmse;
};
// Limits of level L0, L1 or L2. Throws std::invalid_argument for other levels.
RatioLimits ratio_limits(const std::string& level);
// The level of an API in msprobe 26; settings.level wins.
std::string level_of(const Settings& settings);

// "mul" for "mul", "Torch.mul.0.forward" and "Torch.mul.0".
std::string api_name(const std::string& api);
bool is_quantization_api(const std::string& api);
// The rule that msprobe 8.3.3 applies to an API: "absolute", "binary", "ulp", "thousandth" or "benchmark".
const char* rule_of_api(const std::string& api);

// |#(d > g) - #(d < g)| / N, where g has the dtype of the device.
double error_balance(const Array& device, const Array& golden);

}  // namespace openaclnn_judge
