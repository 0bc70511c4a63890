// Formats colours, tables, progress and units.
#include "terminal.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/standard_error.h"

namespace openaclnn_cli {

namespace {

bool has_colours() {
  static const bool has = [] {
    const char* const kind = std::getenv("TERM");
    const char* const none = std::getenv("NO_COLOR");  // counts unless it is empty: https://no-color.org
    return isatty(STDOUT_FILENO) != 0 && (none == nullptr || *none == '\0') && kind != nullptr &&
           std::strcmp(kind, "dumb") != 0;
  }();
  return has;
}

// Returns the width of the text in columns: the number of bytes that do not continue a UTF-8 character.
size_t width(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

bool is_number(const std::string& text) {
  return !text.empty() && std::strchr("0123456789-+.", text[0]) != nullptr;
}

// Returns the width of the terminal in characters.
size_t columns() {
  const char* const told = std::getenv("COLUMNS");
  const int wanted = told != nullptr ? std::atoi(told) : 0;
  winsize size = {};
  if (wanted <= 0 && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) return 80;
  const int known = wanted > 0 ? wanted : size.ws_col;
  return known > 0 ? static_cast<size_t>(known) : 80;
}

// Returns the first characters of a UTF-8 text.
std::string cut(const std::string& text, size_t characters) {
  size_t bytes = 0;
  for (; bytes < text.size() && characters > 0; --characters) {
    do ++bytes;
    while (bytes < text.size() && (text[bytes] & 0xC0) == 0x80);
  }
  return text.substr(0, bytes);
}

}  // namespace

std::string toned(Tone tone, std::string_view text) {
  static constexpr std::array<const char*, 5> kCodes = {"", "\033[32m", "\033[31m", "\033[2m", "\033[1m"};
  if (tone == Tone::plain || !has_colours()) return std::string(text);
  return fmt::format("{}{}\033[0m", kCodes[static_cast<size_t>(tone)], text);
}

std::string printable_lines(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines += openaclnn::printable(text.substr(0, end));
    if (end < text.size()) lines += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string shell_word(const std::string& text) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("%+,-./:=@_").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return text;
  std::string out;
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "'" + out + "'";
}

void print_json(const nlohmann::json& value) {
  fmt::print("{}\n", value.dump(2, ' ', true, nlohmann::json::error_handler_t::replace));
}

void Table::add(std::vector<std::string> row) {
  for (std::string& cell : row) cell = openaclnn::printable(cell);
  rows_.push_back(std::move(row));
}

void Table::print() const {
  std::vector<size_t> widths(rows_[0].size());
  for (const auto& row : rows_) {
    for (size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], width(row[k]));
  }
  for (size_t n = 0; n < rows_.size(); ++n) {
    std::string line;
    for (size_t k = 0; k < rows_[n].size(); ++k) {
      const std::string& cell = rows_[n][k];
      const std::string blanks(widths[k] - width(cell), ' ');
      // A heading is aligned like the first value below it.
      const bool right = is_number(rows_[n == 0 && rows_.size() > 1 ? 1 : n][k]);
      line += (k > 0 ? "  " : "") + (right ? blanks + cell : cell + blanks);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", n == 0 ? toned(Tone::strong, line) : line);
  }
}

Progress::Progress(int64_t total) : total_(total), shown_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (shown_ && done_ > 0) openaclnn::write_to_stderr("\r\033[K");
}

void Progress::step(const std::string& what) {
  ++done_;
  if (!shown_) return;
  // One column less than the width: after a full line the terminal would start another, which is not
  // overwritten.
  const std::string line = fmt::format("{} of {}  {}", done_, total_, openaclnn::printable(what));
  openaclnn::write_to_stderr("\r\033[K" + cut(line, columns() - 1));
}

std::string bytes_text(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 || bytes >= 100 ? 0 : 1, kUnits[unit]);
}

std::string seconds_text(double seconds) {
  static constexpr const char* kUnits[] = {"s", "ms", "µs", "ns"};
  size_t unit = 0;
  for (; seconds < 1 && unit + 1 < std::size(kUnits); ++unit) seconds *= 1000;
  return fmt::format("{:.3g} {}", seconds, kUnits[unit]);
}

}  // namespace openaclnn_cli
