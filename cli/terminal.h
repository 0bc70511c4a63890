// Text for people: colours and progress where a terminal shows them, and tables.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace openaclnn_cli {

enum class Tone { plain, good, bad, faint, strong };

// The text in a colour, when stdout is a terminal that has colours and NO_COLOR is not set.
std::string toned(Tone tone, std::string_view text);

// The text with each of its lines printable().
std::string printable_lines(std::string_view text);

// The value and a line break. Everything beyond ASCII is escaped, so that it is valid and harmless wherever it is shown.
void print_json(const nlohmann::json& value);

// Left-aligned columns as wide as their widest cell; numbers are right-aligned.
class Table {
 public:
  explicit Table(std::vector<std::string> heading) : rows_{std::move(heading)} {}

  void add(std::vector<std::string> row);  // as far as it is printable
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "3 of 17  what" on one line of stderr, cut to its width, that is written over; nothing at all without a terminal.
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
