// How a kernel of token compression reads windows and weights, in one description that faults change.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "ops/nsa/verify/windows.h"
#include "verify/source_text.h"

namespace openaclnn_verify {

struct WindowReading {
  WindowAttributes attributes;
  int64_t tokens = 0, heads = 0, columns = 0;
  std::vector<int64_t> starts;      // the first token of each window
  int64_t first = 0, end = 0;       // the tokens of a window that are used; end = L
  bool reverses_weights = false;    // token i is multiplied by weight L - 1 - i
  bool transposes_weights = false;  // the weights are read as [heads, L]
  bool has_equal_weights = false;   // all weights are 1
  bool transposes_tokens = false;   // the tokens are read as [heads, tokens, columns]
  std::vector<bool> leaves_out;     // windows that have no gradient; empty: none

  int64_t block() const { return attributes.block_size; }

  bool has_gradient(int64_t window) const {
    return leaves_out.empty() || !leaves_out[static_cast<size_t>(window)];
  }
  // The element of the weights for token i of a window, and the element of a tensor of tokens.
  int64_t weight_at(int64_t i, int64_t head) const {
    const int64_t row = reverses_weights ? block() - 1 - i : i;
    return transposes_weights ? head * block() + row : row * heads + head;
  }
  int64_t token_at(int64_t token, int64_t head, int64_t column) const {
    const int64_t row = transposes_tokens ? head * tokens + token : token * heads + head;
    return row * columns + column;
  }
};

inline WindowReading make_reading(const GoldenCall& call, const char* lengths_name, const Shape& tokens,
                                  int64_t windows) {
  WindowReading reading;
  reading.attributes =
      with_fitting_batches(recorded_windows(call.arguments, lengths_name), tokens[0], windows);
  reading.tokens = tokens[0];
  reading.heads = tokens[1];
  reading.columns = tokens[2];
  reading.starts = window_starts(reading.attributes, tokens[0]);
  reading.end = reading.block();
  return reading;
}

struct FaultyReading {
  std::string name, text;
  WindowReading reading;
};

// The readings that are wrong in one way.
inline std::vector<FaultyReading> faulty_readings(const WindowReading& right) {
  std::vector<FaultyReading> all;
  const auto add = [&](const char* name, const char* text,
                       const std::function<void(WindowReading&)>& change) {
    FaultyReading made = {name, text, right};
    change(made.reading);
    // The tensors have one row for each right window.
    if (made.reading.starts.size() > right.starts.size()) made.reading.starts.resize(right.starts.size());
    all.push_back(std::move(made));
  };
  const auto move_starts = [](int64_t tokens) {
    return [tokens](WindowReading& r) {
      for (int64_t& start : r.starts) start += tokens;
    };
  };
  // Renews the starts from other attributes. A reading with fewer windows determines no more elements.
  const auto restart = [](WindowReading& r) { r.starts = window_starts(r.attributes, r.tokens); };
  add("windows-shifted-by-one",
      "Each window begins one token too late. Window j begins at token j * stride of its sequence.",
      move_starts(1));
  add("windows-shifted-by-one",
      "Each window begins one token too early. Window j begins at token j * stride of its sequence.",
      move_starts(-1));
  add("stride-is-block-size",
      "The windows are compressBlockSize tokens apart. They must be compressStride tokens apart, so that "
      "they overlap.",
      [](WindowReading& r) {
        std::vector<int64_t> starts;
        for (size_t j = 0; j < r.starts.size(); ++j) {
          const bool continues = j > 0 && r.starts[j] == r.starts[j - 1] + r.attributes.stride;
          starts.push_back(continues ? starts.back() + r.block() : r.starts[j]);
        }
        r.starts = starts;
      });
  add("sequences-ignored",
      "Windows reach across the borders of sequences. Each sequence of actSeqLen begins with a new window.",
      [](WindowReading& r) {
        for (size_t j = 0; j < r.starts.size(); ++j)
          r.starts[j] = static_cast<int64_t>(j) * r.attributes.stride;
      });
  if (right.attributes.pass_lengths) {
    add("sequence-length-type",
        right.attributes.length_type == 0
            ? "The device reads actSeqLen as lengths. With actSeqLenType 0 the entries are ends of sequences."
            : "The device reads actSeqLen as ends of sequences. With actSeqLenType 1 the entries are "
              "lengths.",
        [&](WindowReading& r) {
          std::vector<int64_t>& lengths = r.attributes.lengths;
          int64_t before = 0;
          for (int64_t& length : lengths) {
            const int64_t entry = length;
            length = right.attributes.length_type == 0 ? before + entry : entry - before;
            before = right.attributes.length_type == 0 ? length : entry;
          }
          restart(r);
        });
  }
  add("weights-reversed",
      "The weights are applied in reverse order. Weight i belongs to token i of the window.",
      [](WindowReading& r) { r.reverses_weights = true; });
  add("weights-transposed",
      "The weights are read as [heads, block]. Their shape is [compressBlockSize, heads].",
      [](WindowReading& r) { r.transposes_weights = true; });
  add("weights-ignored", "The result is a plain sum of the tokens. Multiply token i by weight i.",
      [](WindowReading& r) { r.has_equal_weights = true; });
  add("heads-transposed",
      "The tokens are read as [heads, tokens, columns]. Their shape is [tokens, heads, columns].",
      [](WindowReading& r) { r.transposes_tokens = true; });
  add("last-token-missing",
      "The last token of each window is missing. The loop must run over compressBlockSize tokens.",
      [](WindowReading& r) { r.end -= 1; });
  add("first-token-missing",
      "The first token of each window is missing. The loop must run over compressBlockSize tokens.",
      [](WindowReading& r) { r.first += 1; });
  return all;
}

// The terms of a compressed window, and their lines.
inline ElementSources compressed_sources(const WindowReading& r, const Array& tokens, const Array& weights,
                                         int64_t window, int64_t head, int64_t column) {
  ElementSources found;
  if (window >= static_cast<int64_t>(r.starts.size())) return found;
  const int64_t start = r.starts[static_cast<size_t>(window)];
  const auto clip = [&](int64_t token) { return std::clamp<int64_t>(token, 0, r.tokens); };
  const int64_t begin = clip(start + r.first), end = std::max(begin, clip(start + r.end));
  const auto token = [&](int64_t k) { return tokens.get(r.token_at(begin + k, head, column)); };
  const auto weight = [&](int64_t k) {
    return r.has_equal_weights ? 1.0 : weights.get(r.weight_at(begin + k - start, head));
  };
  found.lines.push_back(source_line(
      openaclnn::text("input[", run_text(begin, end), ", ", head, ", ", column, "]"), end - begin, token));
  found.lines.push_back(
      source_line(openaclnn::text("weight[", run_text(begin - start, end - start), ", ", head, "]"),
                  end - begin, weight));
  if (end - begin > kMostTerms) return found;
  found.is_sum = true;
  for (int64_t k = 0; k < end - begin; ++k) found.terms.push_back({weight(k), token(k)});
  return found;
}

}  // namespace openaclnn_verify
