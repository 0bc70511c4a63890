// Text for people: colours and progress where a terminal shows them, and tables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace openaclnn_cli {

enum class Tone { plain, good, bad, faint, strong };

// The text in a colour, when stdout is a terminal that has colours and NO_COLOR is not set.
std::string toned(Tone tone, std::string_view text);

// Left-aligned columns as wide as their widest cell; numbers are right-aligned.
class Table {
 public:
  explicit Table(std::vector<std::string> heading) : rows_{std::move(heading)} {}

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "3 of 17  what" on one line of stderr that is written over, and nothing at all without a terminal.
class Progress {
 public:
  explicit Progress(int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void step(const std::string& what);

 private:
  const int64_t total_;
  const bool shown_;
  int64_t done_ = 0;
};

// "1.5 GiB"
std::string bytes_text(double bytes);
// "12.3 µs"
std::string seconds_text(double seconds);

}  // namespace openaclnn_cli
