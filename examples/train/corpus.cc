// Reading, splitting, counting and shuffling the text.
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
constexpr uintmax_t kMaxBytes = uintmax_t{1} << 30;  // BatchSampler keeps 4 bytes per position

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

void Corpus::append(int64_t position, Batch& batch) const {
  for (int64_t i = position - Model::kContext; i < position; ++i)
    batch.contexts.push_back(static_cast<int32_t>(byte_at(text_, i)));
  batch.targets.push_back(static_cast<int32_t>(byte_at(text_, position)));
}

std::vector<Batch> Corpus::held_out(int64_t limit, int64_t rows) const {
  const int64_t available = bytes() - held_out_begin_, used = std::min(limit, available);
  std::vector<Batch> batches;
  for (int64_t i = 0; i < used; ++i) {
    if (i % rows == 0) batches.emplace_back();
    append(held_out_begin_ + i * available / used, batches.back());
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

BatchSampler::BatchSampler(const Corpus& corpus, Random& random)
    : corpus_(corpus),
      random_(random),
      order_(static_cast<size_t>(corpus.held_out_begin() - Model::kContext)),
      used_(order_.size()) {
  for (size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<uint32_t>(i + Model::kContext);
}

void BatchSampler::next(int64_t rows, Batch& batch) {
  batch.contexts.clear();
  batch.targets.clear();
  for (int64_t r = 0; r < rows; ++r) {
    if (used_ == order_.size()) used_ = 0;
    // One step of a Fisher-Yates shuffle: the chosen position moves to the front part and is not
    // drawn again this time round.
    std::swap(order_[used_], order_[used_ + random_.below(order_.size() - used_)]);
    corpus_.append(order_[used_++], batch);
  }
}

}  // namespace train
