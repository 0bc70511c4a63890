// Reads, splits, counts and shuffles the text.
#include "corpus.h"

#include <fmt/core.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "errors.h"

namespace train {
namespace {

constexpr uintmax_t kMinBytes = 4096;                // leaves a couple of hundred held-out bytes
constexpr uintmax_t kMaxBytes = uintmax_t{1} << 30;  // BatchSampler keeps 16 bytes per sequence

std::string read_text(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found)
    throw InputError(fmt::format("the text '{}' does not exist", path));
  if (status.type() == fs::file_type::none)
    throw InputError(fmt::format("the text '{}' cannot be read: {}", path, error.message()));
  if (fs::is_directory(status))
    throw InputError(fmt::format("the text '{}' is a directory, not a file", path));
  if (!fs::is_regular_file(status))
    throw InputError(fmt::format("the text '{}' is not a regular file", path));
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(fmt::format("the text '{}' cannot be read: {}", path, std::strerror(errno)));
  const uintmax_t size = fs::file_size(path, error);
  if (error) throw InputError(fmt::format("the text '{}' cannot be read: {}", path, error.message()));
  if (size == 0) throw InputError(fmt::format("the text '{}' is empty", path));
  if (size < kMinBytes)
    throw InputError(
        fmt::format("the text '{}' is too short: {} bytes, at least {} are needed", path, size, kMinBytes));
  if (size > kMaxBytes)
    throw InputError(
        fmt::format("the text '{}' is too long: {} bytes, at most {} are accepted", path, size, kMaxBytes));
  std::string text(size, '\0');
  file.read(text.data(), static_cast<std::streamsize>(size));
  if (static_cast<uintmax_t>(file.gcount()) != size)
    throw InputError(fmt::format("the text '{}' cannot be read to its end", path));
  return text;
}

// Entropy in nats of a distribution given by counts.
double entropy(const std::vector<int64_t>& counts) {
  double total = 0, weighted_logs = 0;
  for (const int64_t count : counts) {
    if (count == 0) continue;
    const auto c = static_cast<double>(count);
    total += c;
    weighted_logs += c * std::log(c);
  }
  return total == 0 ? 0 : std::log(total) - weighted_logs / total;
}

size_t byte_at(const std::string& text, size_t i) { return static_cast<unsigned char>(text[i]); }

}  // namespace

Corpus::Corpus(const std::string& path) : text_(read_text(path)), held_out_begin_(bytes() - bytes() / 20) {}

void Corpus::append(int64_t first, int64_t last, Batch& batch) const {
  for (int64_t position = first; position < last; ++position) {
    for (int64_t i = position - kContext; i < position; ++i)
      batch.contexts.push_back(static_cast<int32_t>(byte_at(text_, static_cast<size_t>(i))));
    batch.targets.push_back(static_cast<int32_t>(byte_at(text_, static_cast<size_t>(position))));
  }
  batch.sequences.ends.push_back(batch.rows() + last - first);
}

std::vector<Batch> Corpus::held_out(int64_t limit) const {
  constexpr size_t kSequences = 8;  // of a batch
  const int64_t available = (bytes() - held_out_begin_ + kMaxSequence - 1) / kMaxSequence;
  const int64_t used = std::min((limit + kMaxSequence - 1) / kMaxSequence, available);
  std::vector<Batch> batches;
  for (int64_t i = 0; i < used; ++i) {
    if (batches.empty() || batches.back().sequences.count() == kSequences) batches.emplace_back();
    const int64_t first = held_out_begin_ + i * available / used * kMaxSequence;
    append(first, std::min(first + kMaxSequence, bytes()), batches.back());
  }
  return batches;
}

double Corpus::unigram_entropy() const {
  std::vector<int64_t> counts(256);
  for (size_t i = 0; i < text_.size(); ++i) ++counts[byte_at(text_, i)];
  return entropy(counts);
}

double Corpus::bigram_entropy() const {
  // H(second | first) = H(pair) - H(first)
  std::vector<int64_t> pairs(256 * 256), firsts(256);
  for (size_t i = 1; i < text_.size(); ++i) {
    ++pairs[byte_at(text_, i - 1) * 256 + byte_at(text_, i)];
    ++firsts[byte_at(text_, i - 1)];
  }
  return entropy(pairs) - entropy(firsts);
}

BatchSampler::BatchSampler(const Corpus& corpus, Random& random) : corpus_(corpus), random_(random) {}

void BatchSampler::cut() {
  for (int64_t first = kContext; first < corpus_.held_out_begin();) {
    const auto length = kMinSequence + static_cast<int64_t>(random_.below(kMaxSequence - kMinSequence + 1));
    const int64_t last = std::min(first + length, corpus_.held_out_begin());
    stretches_.push_back({first, last});
    first = last;
  }
  for (size_t i = stretches_.size(); i > 1; --i) std::swap(stretches_[i - 1], stretches_[random_.below(i)]);
}

void BatchSampler::next(int64_t rows, Batch& batch) {
  batch.contexts.clear();
  batch.targets.clear();
  batch.sequences.ends.clear();
  while (batch.rows() < rows) {
    if (stretches_.empty()) cut();
    Stretch& stretch = stretches_.back();
    const int64_t last = std::min(stretch.last, stretch.first + rows - batch.rows());
    corpus_.append(stretch.first, last, batch);
    stretch.first = last;
    if (stretch.first == stretch.last) stretches_.pop_back();
  }
}

}  // namespace train
