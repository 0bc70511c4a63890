// Finds pages, and parses the subset of Markdown that the project's pages use.
#include "pages.h"

#include <embedded_pages.h>

#include <iterator>
#include <sstream>

namespace openaclnn_cli {

namespace {

std::vector<std::string> lines_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  size_t begin = 1;
  for (size_t at = 1; at < line.size(); ++at) {
    if (line[at] != '|' || line[at - 1] == '\\') continue;
    cells.push_back(trimmed(line.substr(begin, at - begin)));
    begin = at + 1;
  }
  return cells;
}

// Replaces links outside of code with their texts: "[errors](errors.md)" becomes "errors".
std::string without_links(std::string line) {
  bool code = false;
  for (size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '`') code = !code;
    if (line[at] != '[' || code) continue;
    const size_t bracket = line.find_first_of("[]", at + 1);
    if (bracket == std::string::npos || line.compare(bracket, 2, "](") != 0) continue;
    const size_t end = line.find(')', bracket);
    if (end == std::string::npos) continue;
    line.erase(bracket, end + 1 - bracket);
    line.erase(at--, 1);
  }
  return line;
}

}  // namespace

std::string_view page(std::string_view name) {
  for (const EmbeddedPage& embedded : kEmbeddedPages) {
    if (embedded.name == name) return embedded.text;
  }
  return {};
}

std::string plain_text(std::string_view markdown) {
  std::string out;
  bool code = false;
  for (std::string& line : lines_of(markdown)) {
    if (line.starts_with("```")) {
      code = !code;
      continue;
    }
    if (code) {
      out += "    " + line + "\n";
      continue;
    }
    line = without_links(std::move(line));
    for (size_t k = 0; k < line.size(); ++k) {
      if (line[k] == '`' || line.compare(k, 2, "**") == 0) {
        k += line[k] == '*' ? 1 : 0;
      } else {
        out += line[k];
      }
    }
    out += "\n";
  }
  return out;
}

std::vector<std::vector<std::string>> table_under(std::string_view markdown, std::string_view heading) {
  std::vector<std::vector<std::string>> rows;
  bool inside = false;
  for (const std::string& line : lines_of(markdown)) {
    if (line.starts_with("## ")) inside = line.substr(3) == heading;
    if (!inside) continue;
    if (!line.starts_with("|")) {
      if (!rows.empty()) break;
      continue;
    }
    if (!line.starts_with("|---")) rows.push_back(cells_of(line));
  }
  return rows;
}

std::string code_block(std::string_view markdown, std::string_view language) {
  const std::string fence = "```" + std::string(language);
  std::string block;
  bool inside = false;
  for (const std::string& line : lines_of(markdown)) {
    if (inside && line == "```") break;
    if (inside) block += line + "\n";
    if (line == fence) inside = true;
  }
  return block;
}

}  // namespace openaclnn_cli
