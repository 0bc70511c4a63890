// Parses the JSON of dumps into a tree that is bounded by what callers keep.
#include "judge/dump_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "files/errors.h"
#include "files/json.h"
#include "files/source.h"

namespace openaclnn_judge {

using nlohmann::json;
using openaclnn_files::BadInput;

namespace {

// Returns the number that JSON lacks at the start of the text, or an empty text.
std::string_view number_at(std::string_view text) {
  for (const std::string_view name : {"NaN", "Infinity", "-Infinity"}) {
    if (text[0] == name[0] && text.starts_with(name)) return name;
  }
  return {};
}

// Returns the text with quotes around the numbers that JSON lacks.
std::string with_quoted_numbers(std::string_view text) {
  std::string quoted;
  bool is_in_string = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (is_in_string && c == '\\') {
      quoted += text.substr(at++, 2);
      continue;
    }
    if (c == '"') is_in_string = !is_in_string;
    const std::string_view word = is_in_string ? "" : number_at(text.substr(at));
    if (word.empty()) {
      quoted += c;
      continue;
    }
    quoted.append("\"").append(word).append("\"");
    at += word.size() - 1;
  }
  return quoted;
}

bool may_have_quoted_numbers(std::string_view text) {
  return text.find("NaN") != std::string_view::npos || text.find("Infinity") != std::string_view::npos;
}

}  // namespace

json parse_dump_json(std::string_view text, const KeepEntry& keep) {
  openaclnn_files::JsonRules rules;
  rules.most_depth = kMostDumpDepth;
  rules.keep = keep;
  const bool needs_quotes = may_have_quoted_numbers(text);
  const std::string quoted = needs_quotes ? with_quoted_numbers(text) : "";
  const std::string_view parsed = needs_quotes ? quoted : text;
  try {
    return openaclnn_files::parse_json(parsed, rules);
  } catch (const openaclnn_files::JsonError& error) {
    if (error.kind == openaclnn_files::JsonError::depth)
      throw BadInput(fmt::format("it is nested more than {} levels deep", kMostDumpDepth));
    const std::string_view before = parsed.substr(0, std::min(error.byte, parsed.size()));
    throw BadInput(
        fmt::format("it isn't valid JSON: error in line {}", 1 + std::ranges::count(before, '\n')));
  }
}

json read_dump_json(const std::string& path, const KeepEntry& keep) {
  try {
    const openaclnn_files::OpenFile file(path);
    if (file.size() > kMostDumpJson)
      throw BadInput(fmt::format("it has {} bytes; at most {} are accepted", file.size(), kMostDumpJson));
    return parse_dump_json(file.head(0, file.size()), keep);
  } catch (const BadInput& error) {
    throw BadInput(fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace openaclnn_judge
