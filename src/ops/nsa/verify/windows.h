// The windows of token compression, from their definition, for the oracles of the operator and of its
// gradient. They check the library, so they share no arithmetic with base/window_count.h and ops/nsa/cover.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "aclnn/acl_meta.h"
#include "verify/case.h"
#include "verify/draw.h"
#include "verify/number.h"

namespace openaclnn_verify {

struct WindowAttributes {
  int64_t block_size = 0;             // L
  int64_t stride = 0;                 // d
  std::vector<int64_t> lengths = {};  // of the sequences, in whichever form they are passed
  int64_t length_type = 0;            // 0: passed as prefix sums, 1: as lengths
  bool pass_lengths = true;           // false: NULL
  int64_t batches = 1;                // without lengths: the sequences, all of one length

  static WindowAttributes without_lengths(int64_t block_size, int64_t stride, int64_t batches = 1) {
    return {block_size, stride, {}, 0, false, batches};
  }
};

// Batches of equal length, whose lengths a call may omit.
struct EqualBatches {
  int64_t tokens, block_size, stride, batches;

  WindowAttributes with_lengths() const {
    WindowAttributes given = {block_size, stride, {}, 1};
    given.lengths.assign(static_cast<size_t>(batches), tokens / batches);
    return given;
  }
  WindowAttributes without_lengths() const {
    return WindowAttributes::without_lengths(block_size, stride, batches);
  }
};
inline constexpr EqualBatches kEqualBatches[] = {
    {160, 32, 16, 2}, {160, 32, 16, 1}, {12, 4, 3, 1}, {96, 32, 16, 3}, {70, 5, 2, 7}};

// Returns the first token of each window, in order.
inline std::vector<int64_t> window_starts(const WindowAttributes& a, int64_t tokens) {
  const std::vector<int64_t> equal(static_cast<size_t>(a.batches), tokens / a.batches);
  const std::vector<int64_t>& lengths = a.pass_lengths ? a.lengths : equal;
  std::vector<int64_t> starts;
  int64_t token = 0;
  for (const int64_t length : lengths) {
    for (int64_t at = 0; at + a.block_size <= length; at += a.stride) starts.push_back(token + at);
    token += length;
  }
  return starts;
}

// Returns the smallest number of batches above `above` that a call without lengths may mean. It divides the
// tokens into sequences with `windows` windows together. Tries one number after the other; 0: none.
inline int64_t fitting_batches(WindowAttributes a, int64_t tokens, int64_t windows, int64_t above = 0) {
  a.pass_lengths = false;
  for (a.batches = above + 1; a.batches <= std::max<int64_t>(tokens, 1); ++a.batches) {
    if (tokens % a.batches != 0) continue;
    if (static_cast<int64_t>(window_starts(a, tokens).size()) == windows) return a.batches;
  }
  return 0;
}

// Returns true if strict mode requires the lengths, because several numbers of batches fit a call without
// them.
inline bool is_ambiguous(const WindowAttributes& a, int64_t tokens) {
  const auto windows = static_cast<int64_t>(window_starts(a, tokens).size());
  if (a.pass_lengths || windows == 0) return false;
  return fitting_batches(a, tokens, windows, fitting_batches(a, tokens, windows)) != 0;
}

// Returns the attributes of a call whose tensors have this many tokens and windows.
inline WindowAttributes with_fitting_batches(WindowAttributes a, int64_t tokens, int64_t windows) {
  if (!a.pass_lengths) a.batches = std::max<int64_t>(fitting_batches(a, tokens, windows), 1);
  return a;
}

// Passes NULL in place of equal lengths, if strict mode accepts that. The call may then mean fewer batches
// than there are lengths.
inline void leave_out_lengths(WindowAttributes& a) {
  const int64_t tokens = std::accumulate(a.lengths.begin(), a.lengths.end(), int64_t{0});
  const auto windows = static_cast<int64_t>(window_starts(a, tokens).size());
  WindowAttributes without = a;
  without.pass_lengths = false;
  without = with_fitting_batches(without, tokens, windows);
  if (!is_ambiguous(without, tokens)) a = without;
}

// Returns the windows of a recorded call; ends of sequences become lengths.
inline WindowAttributes recorded_windows(const RecordedCall& call, const char* lengths_name) {
  WindowAttributes a = {call.integers.at("compressBlockSize"),
                        call.integers.at("compressStride"),
                        {},
                        call.integers.at("actSeqLenType")};
  const auto given = call.arrays.find(lengths_name);
  a.pass_lengths = given != call.arrays.end() && !given->second.empty();
  int64_t begin = 0;
  for (const int64_t entry : a.pass_lengths ? given->second : std::vector<int64_t>()) {
    a.lengths.push_back(a.length_type == 0 ? entry - begin : entry);
    begin = entry;
  }
  return a;
}

// Returns the attributes of a call with these windows.
inline RecordedCall recorded_windows_of(const WindowAttributes& a, const char* lengths_name) {
  RecordedCall call;
  call.integers = {
      {"compressBlockSize", a.block_size}, {"compressStride", a.stride}, {"actSeqLenType", a.length_type}};
  if (!a.pass_lengths) return call;
  std::vector<int64_t>& entries = call.arrays[lengths_name] = a.lengths;
  if (a.length_type == 0) std::partial_sum(entries.begin(), entries.end(), entries.begin());
  return call;
}

// Returns blocks of at most `most` tokens in up to four sequences, the last of which has a window. Strict
// mode also accepts them.
inline WindowAttributes random_windows(Draw& draw, int64_t most) {
  WindowAttributes a;
  a.block_size = draw.between(1, most / 2 + 1);
  a.stride = draw.between(1, a.block_size + 2);  // most tokens belong to a window
  a.length_type = draw.below(2);
  a.lengths = draw.sizes(draw.below(3), most);
  a.lengths.push_back(2 * a.block_size + draw.below(most));
  if (a.lengths.size() == 1 && draw.chance(2)) {
    const int64_t batches = draw.between(1, 3);
    a.lengths.resize(static_cast<size_t>(batches), a.lengths[0]);
    leave_out_lengths(a);
  }
  return a;
}

// Calls make(dtype, shape of the tokens, windows, layout, name) for random sizes with at most about
// `elements` elements and at least one window.
template <class Make>
auto random_compression(Draw& draw, int64_t elements, const Make& make) {
  const aclDataType dtype = draw.pick(kFloatDtypes);
  const WindowAttributes windows = random_windows(draw, std::min<int64_t>(elements / 8 + 1, 60));
  const int64_t tokens = std::accumulate(windows.lengths.begin(), windows.lengths.end(), int64_t{0});
  const int64_t heads = draw.between(1, 4);
  const int64_t columns = draw.between(1, std::max<int64_t>(1, elements / (tokens * heads)));
  const Layout layout = draw.layout();
  return make(dtype, std::vector<int64_t>{tokens, heads, columns}, windows, layout,
              std::to_string(draw.seed()));
}

struct WindowsCase {
  const char* what;
  Shape tokens;
  WindowAttributes attributes;
  Layout layout = Layout::contiguous;
};

// Calls make(dtype, shape of the tokens, windows, layout, name) for the cases that all operators of windows
// have, and for its own.
template <class Make>
std::vector<Case> windows_cases(const Make& make, const std::vector<WindowsCase>& own) {
  std::vector<WindowsCase> all = {
      {"overlapping windows", {400, 4, 128}, {32, 16, {96, 104, 200}, 0}},
      {"one sequence, no lengths given", {500, 3, 80}, {16, 16, {}, 0, false}},
      {"equal batches, no lengths given", {240, 3, 72}, WindowAttributes::without_lengths(20, 6, 3)},
      {"long windows", {1900, 1, 65}, {600, 333, {1800, 100}, 1}},
      {"wide heads", {60, 3, 1037}, {5, 3, {60}, 0}},
      {"narrow heads", {900, 131, 3}, {8, 5, {450, 450}, 0}},
      {"many windows overlap, heads in pieces", {120, 3, 1100}, {40, 3, {}, 0, false}},
      {"padded rows", {300, 6, 50}, {12, 6, {100, 200}, 1}, Layout::padded},
      {"rotated views, negative strides", {200, 7, 40}, {10, 4, {120, 80}, 0}, Layout::mixed}};
  all.insert(all.end(), own.begin(), own.end());
  std::vector<Case> cases;
  for (const aclDataType dtype : kFloatDtypes) {
    for (const auto& [what, tokens, attributes, layout] : all)
      cases.push_back(make(dtype, tokens, attributes, layout, std::string(dtype_name(dtype)) + " " + what));
  }
  return cases;
}

// Sums of windows whose errors are measured.
struct WindowsSums {
  const char* name;
  Shape input_dims;
  WindowAttributes attributes;
  double share;  // of the elements
};

// The host array of a call. It owns its handle, which is NULL if no lengths are passed.
class LengthArray {
 public:
  explicit LengthArray(const WindowAttributes& a) {
    if (!a.pass_lengths) return;
    std::vector<int64_t> entries = a.lengths;
    if (a.length_type == 0) std::partial_sum(entries.begin(), entries.end(), entries.begin());
    handle_ = aclCreateIntArray(entries.data(), entries.size());
  }
  ~LengthArray() {
    if (handle_ != nullptr) aclDestroyIntArray(handle_);
  }
  LengthArray(const LengthArray&) = delete;
  LengthArray& operator=(const LengthArray&) = delete;
  const aclIntArray* get() const { return handle_; }

 private:
  aclIntArray* handle_ = nullptr;
};

}  // namespace openaclnn_verify
