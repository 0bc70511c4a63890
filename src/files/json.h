// Reads JSON of files from anywhere: in linear time, with limits on nesting and names.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace openaclnn_files {

struct JsonRules {
  int most_depth = 0;         // of arrays and objects in each other
  bool unique_names = false;  // two equal names in one object are an error; otherwise the last value stays
  // Returns true if an entry is needed; other entries take no memory. `depth`: 1 for those of the outermost object.
  std::function<bool(int depth, const std::string& name)> keep;
};

struct JsonError : std::runtime_error {
  enum Kind { syntax, depth, repeated_name };
  JsonError(Kind of_kind, size_t at_byte, const std::string& text)
      : std::runtime_error(text), kind(of_kind), byte(at_byte) {}

  Kind kind;
  size_t byte;  // where a syntax error was found
};

// Throws JsonError. The text of a repeated_name is the name.
nlohmann::json parse_json(std::string_view text, const JsonRules& rules);

}  // namespace openaclnn_files
