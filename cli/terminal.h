// Output for people: colours and progress on terminals, and tables.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace openaclnn_cli {

enum class Tone { plain, good, bad, faint, strong };

// Returns the text in a colour if stdout is a colour terminal and NO_COLOR is not set.
std::string toned(Tone tone, std::string_view text);

// Returns the text with printable() applied to each line.
std::string printable_lines(std::string_view text);

// Returns the text as one word of a shell's command, in quotes if it needs them.
std::string shell_word(const std::string& text);

// Prints the value and a line break. Non-ASCII characters are escaped, so that the output is valid and safe
// everywhere.
void print_json(const nlohmann::json& value);

// A table with left-aligned columns as wide as their widest cell; numbers are right-aligned.
class Table {
 public:
  explicit Table(std::vector<std::string> heading) : rows_{std::move(heading)} {}

  void add(std::vector<std::string> row);  // stored after printable()
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Shows "3 of 17 what" on one line of stderr, truncated to the width and overwritten each time. Prints
// nothing without a terminal.
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
