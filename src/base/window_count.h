// Counts the windows of token compression in sequences whose lengths the caller provides. The library, the
// program and the Python module share it, because all three receive these numbers from outside. No input
// makes it overflow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace openaclnn {

// The tokens of a window, and the distance between window starts in tokens. Counting requires both to be at
// least 1.
struct WindowShape {
  int64_t block;   // L
  int64_t stride;  // d
};

// Returns the number of windows in a sequence of `length` >= 0 tokens. It is at most `length`, so sums over
// sequences do not overflow.
constexpr int64_t count_windows(int64_t length, const WindowShape& shape) {
  return length < shape.block ? 0 : (length - shape.block) / shape.stride + 1;
}

// Returns whether the last of `length` >= 0 tokens ends a window.
constexpr bool ends_window(int64_t length, const WindowShape& shape) {
  return length >= shape.block && (length - shape.block) % shape.stride == 0;
}

// The sequences of a call, as the caller's host array describes them.
struct SequenceEntries {
  std::span<const int64_t> entries;
  bool are_ends;   // prefix sums of the lengths, otherwise the lengths themselves
  int64_t tokens;  // shared by all sequences

  // Requires that check_entries() found no error.
  constexpr int64_t length(size_t b) const {
    return are_ends && b > 0 ? entries[b] - entries[b - 1] : entries[b];
  }
};

enum class WrongEntry { none, negative, decreasing, beyond_tokens };

struct EntryCheck {
  WrongEntry problem = WrongEntry::none;
  size_t position = 0;  // index of the faulty entry
  int64_t total = 0;    // tokens of all sequences, if there is no error
};

// Finds the first negative entry, otherwise the first prefix sum below its predecessor, otherwise the first
// sequence that ends after the last token.
constexpr EntryCheck check_entries(const SequenceEntries& sequences) {
  const std::span<const int64_t> entries = sequences.entries;
  for (size_t b = 0; b < entries.size(); ++b) {
    if (entries[b] < 0) return {WrongEntry::negative, b};
  }
  for (size_t b = 1; sequences.are_ends && b < entries.size(); ++b) {
    if (entries[b] < entries[b - 1]) return {WrongEntry::decreasing, b};
  }
  int64_t total = 0;
  for (size_t b = 0; b < entries.size(); ++b) {
    // Compares before adding: the sum of two lengths may exceed int64.
    const int64_t length = sequences.length(b);
    if (length > sequences.tokens - total) return {WrongEntry::beyond_tokens, b};
    total += length;
  }
  return {.total = total};
}

// Returns the number of windows in all sequences. No entries mean one sequence of all tokens. Returns 0 for
// invalid entries, which phase 1 of the operator reports.
constexpr int64_t count_all_windows(const SequenceEntries& sequences, const WindowShape& shape) {
  if (shape.block < 1 || shape.stride < 1) return 0;
  if (sequences.entries.empty()) return count_windows(sequences.tokens, shape);
  if (check_entries(sequences).problem != WrongEntry::none) return 0;
  int64_t windows = 0;
  for (size_t b = 0; b < sequences.entries.size(); ++b) windows += count_windows(sequences.length(b), shape);
  return windows;
}

}  // namespace openaclnn
