// Reads link lines of CMake files: commands with their arguments, and the values of variables that the file
// sets.
#include <algorithm>
#include <map>
#include <set>

#include "link_lines.h"
#include "link_words.h"

namespace openaclnn_cli {

namespace {

struct Command {
  std::string name;  // lower case
  std::vector<std::string> words;
  int line;
};

// A position in a CMake file, with functions to read on from there.
class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}

  std::vector<Command> commands() {
    std::vector<Command> all;
    while (skip_blanks()) {
      const int line = line_;
      const std::string name = identifier();
      if (name.empty()) {
        advance();
      } else if (skip_blanks() && text_[at_] == '(') {
        all.push_back({name, words(), line});
      }
    }
    return all;
  }

 private:
  void advance() { line_ += text_[at_++] == '\n' ? 1 : 0; }
  void advance_to(size_t end) {
    while (at_ < text_.size() && at_ < end) advance();
  }

  // Skips blanks and comments; returns false at the end.
  bool skip_blanks() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        const size_t bracket = text_.compare(at_ + 1, 1, "[") == 0 ? bracket_end(at_ + 1) : std::string::npos;
        advance_to(bracket != std::string::npos ? bracket : text_.find('\n', at_));
      } else if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        advance();
      } else {
        return true;
      }
    }
    return false;
  }

  std::string identifier() {
    std::string name;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(text_[at_])));
      advance();
    }
    return name;
  }

  // Returns the end of the [[…]] or [=[…]=] that starts at `from`, or npos if there is none.
  size_t bracket_end(size_t from) const {
    const size_t second = text_.find_first_not_of('=', from + 1);
    if (second == std::string::npos || text_[second] != '[') return std::string::npos;
    const std::string close = "]" + std::string(second - from - 1, '=') + "]";
    const size_t end = text_.find(close, second + 1);
    return end == std::string::npos ? text_.size() : end + close.size();
  }

  std::string quoted() {
    std::string word;
    for (advance(); at_ < text_.size() && text_[at_] != '"'; advance()) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) advance();
      word += text_[at_];
    }
    if (at_ < text_.size()) advance();
    return word;
  }

  std::string unquoted() {
    std::string word;
    for (; at_ < text_.size() && std::string_view(" \t\r\n()#\"").find(text_[at_]) == std::string::npos;
         advance())
      word += text_[at_];
    return word;
  }

  // Returns the words of one command, from its parenthesis on.
  std::vector<std::string> words() {
    std::vector<std::string> found;
    int depth = 0;
    while (skip_blanks()) {
      const char first = text_[at_];
      if (first == '(' || first == ')') {
        depth += first == '(' ? 1 : -1;
        advance();
        if (depth == 0) break;
      } else if (first == '"') {
        found.push_back(quoted());
      } else if (first == '[' && bracket_end(at_) != std::string::npos) {
        advance_to(bracket_end(at_));
      } else {
        found.push_back(unquoted());
      }
    }
    return found;
  }

  const std::string& text_;
  size_t at_ = 0;
  int line_ = 1;
};

using Lists = std::map<std::string, std::vector<std::string>>;

// Appends the words to `replaced`, with the words of a known variable in place of ${NAME}. `budget`: how many more
// words there may be. Cyclic lists exhaust it.
void add_with_values(const std::vector<std::string>& words, const Lists& lists, int depth, int& budget,
                     std::vector<std::string>& replaced) {
  constexpr int kDeepest = 100;
  for (const std::string& word : words) {
    if (--budget < 0) return;
    const bool is_reference = word.starts_with("${") && word.find('}') == word.size() - 1;
    const auto known = is_reference ? lists.find(word.substr(2, word.size() - 3)) : lists.end();
    if (known == lists.end() || depth == kDeepest) {
      replaced.push_back(word);
    } else {
      add_with_values(known->second, lists, depth + 1, budget, replaced);
    }
  }
}

std::vector<std::string> with_values(const std::vector<std::string>& words, const Lists& lists) {
  int budget = 300;  // the compiler is asked for each library that cann-compat lacks
  std::vector<std::string> replaced;
  add_with_values(words, lists, 0, budget, replaced);
  return replaced;
}

void remember_variable(const Command& command, Lists& lists) {
  const bool appends = command.name == "list" && !command.words.empty() && command.words[0] == "APPEND";
  const size_t name_at = appends ? 1 : 0;
  if ((command.name != "set" && !appends) || command.words.size() <= name_at) return;
  std::vector<std::string>& values = lists[command.words[name_at]];
  if (!appends) values.clear();
  for (size_t k = name_at + 1; k < command.words.size(); ++k) {
    if (command.words[k] == "CACHE" || command.words[k] == "PARENT_SCOPE") break;
    values.push_back(command.words[k]);
  }
}

void add_library_words(const std::vector<std::string>& words, int line, LinkLines& found) {
  static const std::set<std::string> kKeywords = {"PRIVATE",      "PUBLIC",      "INTERFACE",
                                                  "LINK_PRIVATE", "LINK_PUBLIC", "LINK_INTERFACE_LIBRARIES",
                                                  "debug",        "optimized",   "general"};
  for (const std::string& word : words) {
    if (word.empty() || kKeywords.contains(word)) continue;
    if (const std::string in_path = library_in_path(word); !in_path.empty()) {
      found.libraries.push_back({in_path, line});
    } else if (word.starts_with("-") || word.find(' ') != std::string::npos) {
      add_flags(word, line, found);
    } else if (word.find_first_of("$:;/<>") != std::string::npos) {
      found.unknown.push_back({word, line});
    } else {
      found.libraries.push_back({word, line});
    }
  }
}

}  // namespace

LinkLines read_cmake_file(const std::string& text) {
  LinkLines found;
  Lists lists;
  for (const Command& command : Reader(text).commands()) {
    remember_variable(command, lists);
    if (command.words.empty()) continue;
    const std::vector<std::string> rest(command.words.begin() + 1, command.words.end());
    if (command.name == "add_library") {
      found.own_targets.insert(command.words[0]);
    } else if (command.name == "target_link_libraries") {
      add_library_words(with_values(rest, lists), command.line, found);
    } else if (command.name == "link_libraries") {
      add_library_words(with_values(command.words, lists), command.line, found);
    } else if (command.name == "set_target_properties" || command.name == "set" ||
               command.name.ends_with("link_options")) {
      for (const std::string& word : rest) add_flags(word, command.line, found);
    }
  }
  return found;
}

}  // namespace openaclnn_cli
