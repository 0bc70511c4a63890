// Reads text files of /proc and /sys without heap memory, because limits are also read when memory is
// exhausted.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "base/cancellation.h"

namespace openaclnn::cpu {

// A path in a fixed buffer. If the path does not fit, fits() returns false and opening the file fails.
class PathText {
 public:
  PathText() = default;
  PathText(std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts) append(part);
  }

  void append(std::string_view part);
  void cut(size_t size);  // truncates to the first `size` characters

  bool fits() const { return fits_; }
  const char* c_str() const { return text_.data(); }
  std::string_view view() const { return {text_.data(), size_}; }

 private:
  std::array<char, 1024> text_ = {};
  size_t size_ = 0;
  bool fits_ = true;
};

// A file that is read line by line. Lines longer than the buffer are skipped.
class SystemFile {
 public:
  explicit SystemFile(const PathText& path);
  ~SystemFile();
  SystemFile(const SystemFile&) = delete;
  SystemFile& operator=(const SystemFile&) = delete;

  bool is_open() const { return file_ >= 0; }

  // Returns the next line without its end, valid until the next call; nullopt at the end of the file and
  // after an error.
  std::optional<std::string_view> next_line();

 private:
  bool fill();

  CancellationHold no_cancellation_;
  int file_;
  size_t begin_ = 0, end_ = 0;  // bytes read and not yet returned
  size_t left_;                 // bytes that may still be read
  std::array<char, 2048> buffer_;
};

// Returns the text before the first `separator` and removes both from `rest`.
std::string_view take_until(std::string_view& rest, char separator);

}  // namespace openaclnn::cpu
