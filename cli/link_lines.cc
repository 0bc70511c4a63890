// Reads link lines of make files, and the parts shared with CMake files (cmake_lines.cc).
#include "link_lines.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <sstream>

#include "link_words.h"

namespace openaclnn_cli {

namespace fs = std::filesystem;

BuildFile build_file_kind(const std::string& path) {
  const std::string name = fs::path(path).filename().string(), suffix = fs::path(path).extension().string();
  if (name == "CMakeLists.txt" || suffix == ".cmake") return BuildFile::cmake;
  if (name.starts_with("Makefile") || name.starts_with("makefile") || name == "GNUmakefile")
    return BuildFile::make;
  return suffix == ".mk" || suffix == ".mak" || suffix == ".make" ? BuildFile::make : BuildFile::none;
}

std::string library_in_path(const std::string& word) {
  std::string file = word.substr(word.rfind('/') + 1);
  if (!file.starts_with("lib")) return {};
  const size_t version = file.find(".so.");
  if (version != std::string::npos && file.find_first_not_of("0123456789.", version + 4) == std::string::npos)
    file.resize(version + 3);
  for (const std::string_view suffix : {".so", ".a"}) {
    if (!file.ends_with(suffix) || file.size() <= 3 + suffix.size()) continue;
    const std::string name = file.substr(3, file.size() - 3 - suffix.size());
    return name.find_first_of("$(){}<>%*") == std::string::npos ? name : "";
  }
  return {};
}

void add_flags(const std::string& words, int line, LinkLines& found) {
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    if (!word.starts_with("-l") || word.size() == 2) continue;
    const bool is_name = word.find_first_of("$(){}<>%*") == std::string::npos;
    (is_name ? found.libraries : found.unknown).push_back({is_name ? word.substr(2) : word, line});
  }
}

namespace {

using Variables = std::map<std::string, std::string>;

bool is_name_of_variable(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
  });
}

// Replaces each innermost $(…) and ${…} by `replacement` of the text inside. One pass, because a file may
// consist of parentheses. It stops when the result exceeds `most_bytes`, because values may be long and used often.
template <class Replacement>
std::string with_replaced(const std::string& text, const Replacement& replacement,
                          size_t most_bytes = std::string::npos) {
  std::string replaced;
  size_t from = 0, round = std::string::npos, curly = std::string::npos;  // the last $( and ${ since `from`
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '$' && at + 1 < text.size() && text[at + 1] == '(') round = at;
    if (text[at] == '$' && at + 1 < text.size() && text[at + 1] == '{') curly = at;
    const size_t begin = text[at] == ')' ? round : text[at] == '}' ? curly : std::string::npos;
    if (begin == std::string::npos) continue;
    replaced.append(text, from, begin - from).append(replacement(text.substr(begin, at + 1 - begin)));
    from = at + 1;
    round = curly = std::string::npos;
    if (replaced.size() > most_bytes) return replaced;
  }
  return replaced.append(text, from);
}

// Expands $(addprefix -l,a b) to "-la -lb" and known variables to their values; other references do not
// change.
std::string value_of(const std::string& reference, const Variables& variables, size_t most_bytes) {
  const std::string inside = reference.substr(2, reference.size() - 3);
  if (is_name_of_variable(inside)) {
    const auto known = variables.find(inside);
    return known != variables.end() ? known->second : reference;
  }
  const size_t comma = inside.find(',');
  if (!inside.starts_with("addprefix ") || comma == std::string::npos) return reference;
  std::istringstream prefix_words(inside.substr(10, comma - 10)), names(inside.substr(comma + 1));
  std::string prefix, words;
  prefix_words >> prefix;
  for (std::string name; words.size() <= most_bytes && names >> name;) words += " " + prefix + name;
  return words;
}

// Cyclic variables end after eight rounds, and texts that grow beyond kMostBytes stay as they are.
std::string with_values(std::string text, const Variables& variables) {
  constexpr int kMostRounds = 8;
  constexpr size_t kMostBytes = 1 << 16;
  for (int round = 0; round < kMostRounds; ++round) {
    std::string replaced = with_replaced(
        text, [&](const std::string& reference) { return value_of(reference, variables, kMostBytes); },
        kMostBytes);
    if (replaced == text || replaced.size() > kMostBytes) break;
    text = std::move(replaced);
  }
  return text;
}

// A line without comments, joined with the following lines while it ends in a backslash.
struct LogicalLine {
  std::string text;
  int number;  // number of its first line
};
std::vector<LogicalLine> logical_lines(const std::string& text) {
  std::vector<LogicalLine> lines;
  std::istringstream stream(text);
  int number = 0;
  bool goes_on = false;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    line = line.substr(0, line.find('#'));
    if (line.ends_with('\r')) line.pop_back();
    if (goes_on) {
      lines.back().text += " " + line;
    } else {
      lines.push_back({line, number});
    }
    std::string& whole = lines.back().text;
    goes_on = whole.ends_with('\\');
    if (goes_on) whole.pop_back();
  }
  return lines;
}

struct Assignment {
  std::string name, value;
  bool appends = false;
};

// Parses NAME = value, with the operators =, :=, ::=, ?= and +=. The name is empty for other lines.
Assignment assignment_of(const std::string& line) {
  const size_t equals = line.find('=');
  if (equals == std::string::npos) return {};
  size_t end = equals;
  while (end > 0 && std::string_view(":?+! ").find(line[end - 1]) != std::string_view::npos) --end;
  const size_t begin = line.find_last_of(' ', end == 0 ? 0 : end - 1);
  const std::string name = line.substr(begin == std::string::npos ? 0 : begin + 1, end - (begin + 1));
  if (!is_name_of_variable(name)) return {};
  return {name, line.substr(equals + 1), equals > 0 && line[equals - 1] == '+'};
}

// Returns whether a command of a rule links. Other programs also have -l options: ls -la.
bool calls_compiler(const std::string& command) {
  static constexpr std::array<std::string_view, 9> kVariables = {
      "$(CC)", "${CC}", "$(CXX)", "${CXX}", "$(LD)", "${LD}", "$(LINK", "${LINK", "$(CPP)"};
  static constexpr std::array<std::string_view, 7> kCompilers = {"g++",     "gcc",   "c++", "cc",
                                                                 "clang++", "clang", "ld"};
  if (std::ranges::any_of(kVariables, [&](auto name) { return command.find(name) != std::string::npos; }))
    return true;
  std::istringstream stream(command);
  for (std::string word; stream >> word;) {
    const size_t version = word.find_last_not_of("0123456789.");
    if (version != std::string::npos && version + 1 < word.size() && word[version] == '-')
      word.resize(version);
    const size_t begin = word.find_last_of("/@-");
    const std::string program = word.substr(begin == std::string::npos ? 0 : begin + 1);
    if (!word.starts_with("-l") && std::ranges::find(kCompilers, program) != kCompilers.end()) return true;
  }
  return false;
}

}  // namespace

LinkLines read_make_file(const std::string& text) {
  LinkLines found;
  Variables variables;
  for (const LogicalLine& line : logical_lines(text)) {
    std::string words = with_replaced(line.text, [](const std::string& reference) {
      return reference.starts_with("$(shell ") ? std::string() : reference;
    });
    if (words.starts_with("\t")) {
      if (!calls_compiler(words)) continue;
    } else if (const Assignment assignment = assignment_of(words); !assignment.name.empty()) {
      words = assignment.value;
      std::string& value = variables[assignment.name];
      if (!assignment.appends) value.clear();
      value.append(" ").append(words);
    }
    // Variables that contain flags are not expanded again where they are used.
    if (words.find("-l$") != std::string::npos || words.find("addprefix -l") != std::string::npos)
      words = with_values(words, variables);
    add_flags(words, line.number, found);
  }
  return found;
}

}  // namespace openaclnn_cli
