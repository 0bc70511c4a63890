// The windows of a call for the goldens of token compression, checked so that they can be used as indices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/equal_batches.h"
#include "base/window_count.h"
#include "verify/golden/arguments.h"

namespace openaclnn_verify {

// Returns L and d, checked.
inline openaclnn::WindowShape window_shape(const RecordedCall& call, const Array& weight) {
  const openaclnn::WindowShape shape = {integer_of(call, "compressBlockSize"),
                                        integer_of(call, "compressStride")};
  for (const auto& [name, value] :
       {std::pair("compressBlockSize", shape.block), {"compressStride", shape.stride}})
    if (value < 1) reject(std::string(name) + " is " + std::to_string(value) + "; it must be at least 1");
  require_rank("weight", weight, 2);
  require_dims("weight", weight, {shape.block, weight.dims[1]});
  return shape;
}

// Throws std::invalid_argument if the entries aren't sequences of at most `tokens` tokens.
inline void require_sequences(const std::string& name, const openaclnn::SequenceEntries& sequences) {
  const auto [problem, position, total] = openaclnn::check_entries(sequences);
  const std::string entry = name + "[" + std::to_string(position) + "]";
  switch (problem) {
    case openaclnn::WrongEntry::none: return;
    case openaclnn::WrongEntry::negative: reject(entry + " is negative");
    case openaclnn::WrongEntry::decreasing: reject(entry + " is below the entry before it");
    case openaclnn::WrongEntry::beyond_tokens:
      reject(entry + " ends after the last token of input, which has " + std::to_string(sequences.tokens));
  }
}

// Returns the first token of each window, ascending. `windows`: their number by the shape of the compressed tensor `compressed`.
inline std::vector<int64_t> window_starts_of(const RecordedCall& call, const std::string& lengths_name,
                                             const openaclnn::WindowShape& shape, int64_t tokens,
                                             const std::string& compressed, int64_t windows) {
  openaclnn::SequenceEntries sequences = {{}, integer_of(call, "actSeqLenType", 0) == 0, tokens};
  std::vector<int64_t> equal;
  if (const auto given = call.arrays.find(lengths_name);
      given != call.arrays.end() && !given->second.empty()) {
    sequences.entries = given->second;
    require_sequences(lengths_name, sequences);
  } else {
    const int64_t batches =
        openaclnn::find_equal_batches(tokens, windows, shape, openaclnn::SearchFor::smallest).smallest;
    if (batches == 0 && windows > 0) {
      reject(compressed + " has " + std::to_string(windows) +
             " windows, which no number of equal batches of " + std::to_string(tokens) + " tokens has");
    }
    if (batches > 0) equal.assign(static_cast<size_t>(batches), tokens / batches);
    sequences.entries = equal;
    sequences.are_ends = false;
  }
  std::vector<int64_t> starts;
  int64_t begin = 0;
  for (size_t b = 0; b < sequences.entries.size(); ++b) {
    const int64_t length = sequences.length(b);
    for (int64_t window = 0; window < openaclnn::count_windows(length, shape); ++window)
      starts.push_back(begin + window * shape.stride);
    begin += length;
  }
  if (static_cast<int64_t>(starts.size()) != windows) {
    reject(compressed + " has " + std::to_string(windows) + " windows; the sequences have " +
           std::to_string(starts.size()));
  }
  return starts;
}

}  // namespace openaclnn_verify
