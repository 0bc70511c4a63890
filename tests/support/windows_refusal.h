// What phase 1 says of the attributes and sequence lengths of token compression, for the schemas of its two operators.
#pragma once

#include <cstdint>
#include <string>

#include "support/phase1_call.h"

namespace openaclnn_test {

struct WindowSizes {
  int64_t tokens, block_size, stride, length_type, windows;
};

// A part of the sentence; empty: accepted. `compressed`: the tensor with one row per window.
inline std::string windows_refusal(const CallArguments& a, const WindowSizes& sizes, const char* compressed) {
  if (sizes.stride < 1) return "compressStride is " + std::to_string(sizes.stride) + ";";
  if (sizes.length_type != 0 && sizes.length_type != 1)
    return "actSeqLenType is " + std::to_string(sizes.length_type) + ";";
  if (a.layout && std::string(a.layout->c_str()) != "TND") return "is \"";
  const bool has_lengths = a.array->handle != Handle::null && !a.array->values.empty();
  const std::vector<int64_t> entries = has_lengths ? a.array->values : std::vector<int64_t>{sizes.tokens};
  const bool are_ends = has_lengths && sizes.length_type == 0;
  const std::string name = std::string(a.array->name) + "[";
  for (size_t b = 0; b < entries.size(); ++b) {
    if (entries[b] < 0) return name + std::to_string(b) + "] = ";
  }
  Wide end = 0, windows = 0;
  for (size_t b = 0; b < entries.size(); ++b) {
    const Wide length = are_ends ? entries[b] - end : Wide{entries[b]};
    end += length;
    if (length < 0 || end > sizes.tokens) return name;
    if (length >= sizes.block_size) windows += (length - sizes.block_size) / sizes.stride + 1;
  }
  return windows == sizes.windows
             ? ""
             : std::string(compressed) + " has " + std::to_string(sizes.windows) + " windows";
}

}  // namespace openaclnn_test
