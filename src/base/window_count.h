// Counts the windows of token compression in sequences whose lengths a caller gives. The library, the program and the Python module
// share it, because all three take these numbers from outside. No number makes it overflow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace openaclnn {

// Tokens of a window, and from the start of a window to the start of the next one. Counting requires both to be at least 1.
struct WindowShape {
  int64_t block;   // L
  int64_t stride;  // d
};

// The number of windows in a sequence of `length` >= 0 tokens. It is at most `length`, so sums over sequences stay in range.
constexpr int64_t count_windows(int64_t length, const WindowShape& shape) {
  return length < shape.block ? 0 : (length - shape.block) / shape.stride + 1;
}

// Whether the last of `length` >= 0 tokens ends a window.
constexpr bool ends_window(int64_t length, const WindowShape& shape) {
  return length >= shape.block && (length - shape.block) % shape.stride == 0;
}

// The sequences of a call, as its host array gives them.
struct SequenceEntries {
  std::span<const int64_t> entries;
  bool are_ends;   // prefix sums of the lengths, otherwise the lengths themselves
  int64_t tokens;  // that the sequences share

  // Requires that check_entries() found nothing wrong.
  constexpr int64_t length(size_t b) const {
    return are_ends && b > 0 ? entries[b] - entries[b - 1] : entries[b];
  }
};

enum class WrongEntry { none, negative, decreasing, beyond_tokens };

struct EntryCheck {
  WrongEntry problem = WrongEntry::none;
  size_t position = 0;  // of the wrong entry
  int64_t total = 0;    // tokens of all sequences, when nothing is wrong
};

// Finds the first negative entry, otherwise the first prefix sum below its predecessor, otherwise the first sequence that ends behind
// the last token.
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
    // Compared before it is added: the sum of two lengths may leave int64.
    const int64_t length = sequences.length(b);
    if (length > sequences.tokens - total) return {WrongEntry::beyond_tokens, b};
    total += length;
  }
  return {.total = total};
}

// The number of windows in all sequences. No entries mean one sequence of all tokens. Returns 0 for wrong numbers: phase 1 of the
// operator explains these.
constexpr int64_t count_all_windows(const SequenceEntries& sequences, const WindowShape& shape) {
  if (shape.block < 1 || shape.stride < 1) return 0;
  if (sequences.entries.empty()) return count_windows(sequences.tokens, shape);
  if (check_entries(sequences).problem != WrongEntry::none) return 0;
  int64_t windows = 0;
  for (size_t b = 0; b < sequences.entries.size(); ++b) windows += count_windows(sequences.length(b), shape);
  return windows;
}

}  // namespace openaclnn
