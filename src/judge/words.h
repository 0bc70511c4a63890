// Numbers and counts as the reports write them.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"

namespace openaclnn_judge {

// With this number of significant digits.
inline std::string number_text(double value, int digits = 7) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return openaclnn::number_text(value, digits);
}

// With this number of digits after the point.
inline std::string fixed_text(double value, int digits) {
  return std::isfinite(value) ? openaclnn::number_text(value, digits, std::chars_format::fixed)
                              : number_text(value);
}

// Returns whether the text consists of digits.
inline bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "12,345"
inline std::string count_text(int64_t count) {
  std::string digits = std::to_string(count);
  for (auto at = static_cast<int64_t>(digits.size()) - 3; at > (count < 0 ? 1 : 0); at -= 3)
    digits.insert(static_cast<size_t>(at), ",");
  return digits;
}

// "1 element", "12 elements"
inline std::string counted(int64_t count, const char* one, const char* many) {
  return count_text(count) + " " + (count == 1 ? one : many);
}

// "98.5 %". Shares below 100 % are never written as 100 %, nor shares above 0 as 0 %.
inline std::string percent_text(double share) {
  if (share > 0 && share < 5e-4) return "< 0.1 %";
  if (share < 1 && share > .9995) return "> 99.9 %";
  return fixed_text(100 * share, share == 1 || share == 0 ? 0 : 1) + " %";
}

}  // namespace openaclnn_judge
