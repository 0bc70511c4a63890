// Json: writes JSON text from front to back. Commas are its business, balance is the caller's.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

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
      const size_t length = character_bytes(text.substr(at));
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
  // JSON has no Inf and NaN; they become the texts "inf", "-inf", "nan".
  Json& value(double number) {
    if (!std::isfinite(number)) return value(std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
    separate();
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.17g", number);
    out_ += digits;
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
  // Bytes of the character of UTF-8 that the text begins with; 1 where it is none.
  static size_t character_bytes(std::string_view text) {
    const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
    const size_t wanted = byte(0) >= 0xF0 && byte(0) < 0xF5 ? 4 : byte(0) >= 0xE0 && byte(0) < 0xF0 ? 3 : 2;
    if (byte(0) < 0xC2 || byte(0) >= 0xF5 || text.size() < wanted) return 1;
    for (size_t k = 1; k < wanted; ++k) {
      if ((byte(k) & 0xC0) != 0x80) return 1;
    }
    // Neither longer than needed, nor half of a pair, nor beyond the last character.
    const unsigned second = byte(1);
    const bool is_wrong = (byte(0) == 0xE0 && second < 0xA0) || (byte(0) == 0xED && second >= 0xA0) ||
                          (byte(0) == 0xF0 && second < 0x90) || (byte(0) == 0xF4 && second >= 0x90);
    return is_wrong ? 1 : wanted;
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
