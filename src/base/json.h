// Json: writes JSON text sequentially. It inserts commas; the caller closes what it opens.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/text.h"
#include "base/utf8.h"

namespace openaclnn {

class Json {
 public:
  Json& open(char bracket) {  // '{' or '['
    separate();
    out_ += bracket;
    first_ = true;
    return *this;
  }
  Json& close(char bracket) {
    out_ += bracket;
    first_ = false;
    return *this;
  }
  Json& key(std::string_view name) {
    value(name);
    out_ += ':';
    first_ = true;
    return *this;
  }
  Json& value(std::string_view text) {
    separate();
    out_ += '"';
    for (size_t at = 0; at < text.size();) {
      const size_t length = std::max<size_t>(1, utf8_bytes(text.substr(at)));
      append(text.substr(at, length));
      at += length;
    }
    out_ += '"';
    return *this;
  }
  Json& value(const char* text) { return value(std::string_view(text)); }
  Json& value(const std::string& text) { return value(std::string_view(text)); }
  Json& value(bool flag) {
    separate();
    out_ += flag ? "true" : "false";
    return *this;
  }
  template <class Integer>
  requires std::is_integral_v<Integer> Json& value(Integer number) {
    separate();
    out_ += std::to_string(number);
    return *this;
  }
  // JSON has no Inf and NaN; they are written as the strings "inf", "-inf" and "nan".
  Json& value(double number) {
    if (!std::isfinite(number)) return value(std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
    separate();
    out_ += number_text(number, 17);
    return *this;
  }
  // Writes a number as Python's json module writes a float, for Python tools: it has a point or an exponent, and
  // NaN and infinities have no quotes.
  Json& python_float(double number) {
    if (!std::isfinite(number))
      return raw(std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity");
    char digits[32];
    const std::string_view text(
        digits, static_cast<size_t>(std::to_chars(digits, std::end(digits), number).ptr - digits));
    raw(text);
    if (text.find_first_of(".e") == std::string_view::npos) out_ += ".0";
    return *this;
  }
  // Inserts the text of a value.
  Json& raw(std::string_view json) {
    separate();
    out_ += json;
    return *this;
  }
  Json& null() {
    separate();
    out_ += "null";
    return *this;
  }
  Json& value(std::span<const int64_t> numbers) {
    open('[');
    for (const int64_t number : numbers) value(number);
    return close(']');
  }
  template <class Value>
  Json& field(std::string_view name, const Value& content) {
    return key(name).value(content);
  }

  const std::string& text() const { return out_; }

 private:
  void separate() {
    if (!first_) out_ += ',';
    first_ = false;
  }
  void append(std::string_view character) {
    const auto byte = static_cast<unsigned char>(character[0]);
    if (character == "\"" || character == "\\") {
      out_ += '\\';
      out_ += character;
    } else if (byte < 0x20 || (character.size() == 1 && byte >= 0x80)) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(byte));
      out_ += escaped;
    } else {
      out_ += character;
    }
  }

  std::string out_;
  bool first_ = true;
};

}  // namespace openaclnn
