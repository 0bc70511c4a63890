// Compares words by edit distance.
#include "base/nearest.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/text.h"

namespace openaclnn {

namespace {

constexpr size_t kLongestWord = 200;      // longer words aren't compared
constexpr size_t kShortestContained = 3;  // two letters occur in many names

std::string simplified(std::string_view word) {
  std::string simple;
  for (const char c : word) {
    if (c != '_' && c != '-') simple += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return simple;
}

// Counts letters to add, remove, change, or swap with the next one.
size_t edits(const std::string& a, const std::string& b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t k = 0; k <= b.size(); ++k) last[k] = k;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t k = 1; k <= b.size(); ++k) {
      const size_t changed = last[k - 1] + (a[i - 1] != b[k - 1] ? 1 : 0);
      row[k] = std::min({changed, last[k] + 1, row[k - 1] + 1});
      const bool is_swapped = i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1];
      if (is_swapped) row[k] = std::min(row[k], before[k - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last.back();
}

size_t common_start(const std::string& a, const std::string& b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

bool is_near(const std::string& word, const std::string& candidate, size_t distance) {
  const size_t shorter = std::min(word.size(), candidate.size());
  if (shorter > 1 && distance <= std::max<size_t>(1, shorter / 3)) return true;
  // "index" for "indices": other forms of a word start like it and are about as long.
  const size_t start = common_start(word, candidate), longer = std::max(word.size(), candidate.size());
  if (start >= kShortestContained && 5 * start >= 3 * shorter && 2 * longer <= 3 * shorter) return true;
  return word.size() >= kShortestContained && candidate.find(word) != std::string::npos;
}

}  // namespace

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string wanted = simplified(word.substr(0, kLongestWord));
  std::string_view nearest;
  size_t least = SIZE_MAX;
  for (const std::string_view candidate : candidates) {
    const std::string simple = simplified(candidate);
    const size_t distance = edits(wanted, simple);
    if (distance >= least || !is_near(wanted, simple, distance)) continue;
    nearest = candidate;
    least = distance;
  }
  return nearest;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view nearest = nearest_word(word, candidates);
  return nearest.empty() ? "" : text("; did you mean '", nearest, "'?");
}

}  // namespace openaclnn
