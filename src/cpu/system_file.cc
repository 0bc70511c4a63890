// Reads text files of the system.
#include "cpu/system_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace openaclnn::cpu {

namespace {

// Far above the size of any such file, even the mount list of a machine with thousands of containers.
constexpr size_t kMostBytes = size_t{16} << 20;

}  // namespace

void PathText::append(std::string_view part) {
  fits_ = fits_ && part.size() < text_.size() - size_;  // the terminating 0 needs one byte
  if (!fits_) return;
  std::copy(part.begin(), part.end(), text_.data() + size_);
  size_ += part.size();
  text_[size_] = '\0';
}

void PathText::cut(size_t size) {
  size_ = std::min(size, size_);
  text_[size_] = '\0';
}

SystemFile::SystemFile(const PathText& path)
    : file_(path.fits() ? open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1), left_(kMostBytes) {}

SystemFile::~SystemFile() {
  if (file_ >= 0) close(file_);
}

bool SystemFile::fill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  const size_t space = std::min(buffer_.size() - end_, left_);
  if (file_ < 0 || space == 0) return false;
  ssize_t got = 0;
  do {
    got = read(file_, buffer_.data() + end_, space);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return false;
  end_ += static_cast<size_t>(got);
  left_ -= static_cast<size_t>(got);
  return true;
}

std::optional<std::string_view> SystemFile::next_line() {
  bool is_too_long = false;
  while (true) {
    const char* const line = buffer_.data() + begin_;
    const auto* const line_end = static_cast<const char*>(std::memchr(line, '\n', end_ - begin_));
    if (line_end != nullptr) {
      begin_ = static_cast<size_t>(line_end + 1 - buffer_.data());
      if (!is_too_long) return std::string_view(line, static_cast<size_t>(line_end - line));
      is_too_long = false;
      continue;
    }
    if (end_ - begin_ == buffer_.size()) {
      is_too_long = true;
      begin_ = end_;
    }
    if (fill()) continue;
    const std::string_view last(buffer_.data() + begin_, end_ - begin_);
    begin_ = end_;
    if (last.empty() || is_too_long) return std::nullopt;
    return last;
  }
}

std::string_view take_until(std::string_view& rest, char separator) {
  const std::string_view taken = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(taken.size() + 1, rest.size()));
  return taken;
}

}  // namespace openaclnn::cpu
