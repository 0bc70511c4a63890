// Reads the text of a module: where its kernels are, and its variables.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "cuda/ptx/program.h"
#include "cuda/ptx/reader.h"

namespace openaclnn::ptx {

void report(const std::string& sentence) {
  std::fprintf(stderr, "openaclnn PTX machine: %s\n", sentence.c_str());
  std::abort();
}

Module::Module(std::string text) : text_(std::move(text)) { read(); }

std::string_view Module::rest_of_line(size_t position) const {
  const size_t end = std::min(text_.find('\n', position), text_.size());
  return std::string_view(text_).substr(position, end - position);
}

std::string_view Module::line(int number) const {
  const auto index = static_cast<size_t>(number - 1);
  return index < lines_.size() ? rest_of_line(lines_[index]) : std::string_view();
}

std::string_view Module::source_file(int number) const {
  const auto found = files_.find(number);
  return found != files_.end() ? std::string_view(found->second) : std::string_view();
}

// Scans the top level: directives of one line, declarations that end with a semicolon, and kernels, whose
// bodies it skips.
void Module::read() {
  lines_.push_back(0);
  for (size_t k = 0; k < text_.size(); ++k) {
    if (text_[k] == '\n') lines_.push_back(k + 1);
  }
  const std::string_view all = text_;
  size_t at = 0;
  while (at < all.size()) {
    if (std::isspace(static_cast<unsigned char>(all[at])) != 0 || all[at] == '\0') {
      ++at;
      continue;
    }
    const std::string_view line = rest_of_line(at);
    if (line.starts_with("//") || line.starts_with(".version") || line.starts_with(".address_size")) {
      at += line.size();
      continue;
    }
    if (line.starts_with(".target")) {
      const size_t number = line.find("sm_");
      if (number != std::string_view::npos)
        std::from_chars(line.data() + number + 3, line.data() + line.size(), target_);
      at += line.size();
      continue;
    }
    if (line.starts_with(".file")) {
      int number = 0;
      const auto [after, error] =
          std::from_chars(line.data() + std::min(line.size(), size_t{6}), line.data() + line.size(), number);
      const size_t quote = line.find('"');
      if (error == std::errc() && quote != std::string_view::npos)
        files_[number] = line.substr(quote + 1, line.find('"', quote + 1) - quote - 1);
      at += line.size();
      continue;
    }
    const size_t end = std::min(all.find_first_of(";{", at), all.size());
    const std::string_view statement = all.substr(at, end - at);
    const bool is_initialised = statement.find('=') != std::string_view::npos;
    if (end < all.size() && all[end] == '{' && !is_initialised) {
      if (const size_t entry = statement.find(".entry"); entry != std::string_view::npos)
        entries_.emplace(Reader::name_after(statement.substr(entry + 6)), at + entry);
      int depth = 0;
      at = end;
      do {
        if (all[at] == '{') ++depth;
        if (all[at] == '}') --depth;
        ++at;
      } while (at < all.size() && depth > 0);
      continue;
    }
    if (statement.starts_with(".shared")) {
      Variable variable = Reader::read_variable(statement);
      shared_.emplace(variable.name, variable);
    } else if (statement.find(".global") != std::string_view::npos) {
      if (is_initialised)
        report("a variable with a value, which is not known here: " + std::string(statement));
      const Variable variable = Reader::read_variable(statement);
      globals_[variable.name].resize(variable.bytes);
    }
    at = std::min(all.find(';', at), all.size()) + 1;
  }
}

const Kernel* Module::find(const std::string& name) {
  const auto entry = entries_.find(name);
  if (entry == entries_.end()) return nullptr;
  std::unique_ptr<const Kernel>& kernel = kernels_[name];
  if (kernel == nullptr) kernel = Reader(*this, entry->second).read();
  return kernel.get();
}

}  // namespace openaclnn::ptx
