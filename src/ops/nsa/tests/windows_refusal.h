// Phase 1's error messages for attributes and sequence lengths of token compression, for the schemas of its
// two operators. It checks the library, so it counts windows without base/window_count.h.
#pragma once

#include <cstdint>
#include <numeric>
#include <string>

#include "support/phase1_call.h"

namespace openaclnn_test {

struct WindowSizes {
  int64_t tokens, block_size, stride, length_type, windows;
};

// Returns whether some number of equally long sequences, at most 2^20, has this many windows together.
inline bool has_equal_batches(const WindowSizes& sizes) {
  const auto fits = [&](int64_t batches) {
    if (sizes.tokens % batches != 0 || sizes.windows % batches != 0) return false;
    const int64_t rest = sizes.tokens / batches - sizes.block_size;
    return (rest < 0 ? 0 : rest / sizes.stride + 1) == sizes.windows / batches;
  };
  if (fits(1) || (sizes.windows == 0 && fits(sizes.tokens))) return true;  // sequences of one token have none
  const int64_t common = std::gcd(sizes.tokens, sizes.windows);
  for (int64_t batches = 1; batches <= 1048576 && batches <= common; ++batches) {
    if (fits(batches)) return true;
  }
  return false;
}

// Returns a part of the error message; empty: accepted. `compressed`: the tensor with one row per window.
inline std::string windows_refusal(const CallArguments& a, const WindowSizes& sizes,
                                   const std::string& compressed) {
  if (sizes.stride < 1) return "compressStride is " + std::to_string(sizes.stride) + ";";
  if (sizes.length_type != 0 && sizes.length_type != 1)
    return "actSeqLenType is " + std::to_string(sizes.length_type) + ";";
  if (a.layout && std::string(a.layout->c_str()) != "TND") return "is \"";
  const bool has_lengths = a.array->handle != Handle::null && !a.array->values.empty();
  const std::string wrong_count = compressed + " has " + std::to_string(sizes.windows) + " windows";
  if (!has_lengths) return has_equal_batches(sizes) ? "" : wrong_count;
  const std::vector<int64_t>& entries = a.array->values;
  const bool are_ends = sizes.length_type == 0;
  const std::string name = a.array->name + "[";
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
  return windows == sizes.windows ? "" : wrong_count;
}

}  // namespace openaclnn_test
