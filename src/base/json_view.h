// JsonView: reads a JSON text (RFC 8259) in place. The library parses only small configuration files.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace openaclnn {

// Returns the position of the first error in bytes, or nullopt if the text is JSON with at most `max_depth`
// nesting levels. The limit also bounds the stack.
std::optional<size_t> find_json_error(std::string_view text, int max_depth);

// A value within a text that find_json_error() accepts, which must outlive the view.
class JsonView {
 public:
  explicit JsonView(std::string_view text);

  bool is_object() const { return text_.starts_with('{'); }
  bool is_array() const { return text_.starts_with('['); }
  bool is_string() const { return text_.starts_with('"'); }
  // Requires a string. Returns its characters in UTF-8; an escaped half of a surrogate pair becomes U+FFFD.
  std::string string() const;
  // Calls visit(key, value) for each member of an object, or visit("", element) for each element of an array.
  void for_each(const std::function<void(const std::string& key, JsonView value)>& visit) const;
  // The text of the value without surrounding blanks.
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

}  // namespace openaclnn
