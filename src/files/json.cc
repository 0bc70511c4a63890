// Builds the tree from nlohmann's events. The callbacks of its own builder take quadratic time: after each object or array, that
// builder searches the whole parent for discarded values.
#include "files/json.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace openaclnn_files {

namespace {

using nlohmann::json;

class Builder : public nlohmann::json_sax<json> {
 public:
  explicit Builder(const JsonRules& rules) : rules_(rules) {}

  json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // JSON texts have none
  bool start_object(size_t) override { return start(json::object()); }
  bool end_object() override { return end(); }
  bool start_array(size_t) override { return start(json::array()); }
  bool end_array() override { return end(); }

  bool key(string_t& name) override {
    json* const object = open_.back();
    is_kept_ = object != nullptr && (!rules_.keep || rules_.keep(static_cast<int>(open_.size()), name));
    if (!is_kept_) return true;
    if (rules_.unique_names && object->contains(name)) throw JsonError(JsonError::repeated_name, 0, name);
    place_ = &(*object)[name];
    return true;
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    throw JsonError(JsonError::syntax, position, error.what());
  }

 private:
  // Returns where the value is stored, or nullptr if it is not kept.
  json* add_value(json&& value) {
    if (open_.empty()) return &(root_ = std::move(value));
    json* const parent = open_.back();
    if (parent == nullptr) return nullptr;
    if (parent->is_array()) return &parent->emplace_back(std::move(value));
    if (!is_kept_) return nullptr;
    return &(*place_ = std::move(value));
  }

  bool add(json&& value) {
    add_value(std::move(value));
    return true;
  }

  bool start(json&& value) {
    if (static_cast<int>(open_.size()) == rules_.most_depth)
      throw JsonError(JsonError::depth, 0, "too many levels of arrays and objects");
    // Ancestors do not move, because only the innermost container grows.
    open_.push_back(add_value(std::move(value)));
    return true;
  }

  bool end() {
    open_.pop_back();
    return true;
  }

  const JsonRules& rules_;
  json root_;
  std::vector<json*> open_;  // containers that have not ended; nullptr: not kept
  json* place_ = nullptr;    // of the value that follows the name
  bool is_kept_ = false;     // that value
};

}  // namespace

json parse_json(std::string_view text, const JsonRules& rules) {
  Builder builder(rules);
  json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

}  // namespace openaclnn_files
