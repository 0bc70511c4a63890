// A recursive descent parser for RFC 8259. It stores nothing, so the core library needs no JSON library.
#include "base/json_view.h"

#include <charconv>
#include <cstdint>
#include <limits>

namespace openaclnn {

namespace {

// Every function returns whether the text continues as expected, and moves past what it accepted.
class JsonReader {
 public:
  JsonReader(std::string_view text, int max_depth) : text_(text), max_depth_(max_depth) {}

  size_t position() const { return at_; }
  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (at_end() || peek() != c) return false;
    ++at_;
    return true;
  }
  void skip_space() {
    while (!at_end() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  // Appends the characters to `into` unless it is nullptr.
  bool string(std::string* into) {
    if (!take('"')) return false;
    while (!at_end()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c == '\\') {
        if (!escape(into)) return false;
      } else if (into != nullptr) {
        *into += c;
      }
    }
    return false;
  }
  // The name of a member and the colon.
  bool key(std::string* into) {
    skip_space();
    if (!string(into)) return false;
    skip_space();
    return take(':');
  }
  bool value(int depth) {
    skip_space();
    switch (peek()) {
      case '{': return depth < max_depth_ && members(depth, '}');
      case '[': return depth < max_depth_ && members(depth, ']');
      case '"': return string(nullptr);
      case 't': return word("true");
      case 'f': return word("false");
      case 'n': return word("null");
      default: return number();
    }
  }

 private:
  bool word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) return false;
    at_ += expected.size();
    return true;
  }
  bool digits() {
    const size_t start = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ > start;
  }
  bool number() {
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      return digits();
    }
    return true;
  }
  bool escape(std::string* into) {
    if (take('u')) return character(into);
    constexpr std::string_view kEscapes = "\"\\/bfnrt", kCharacters = "\"\\/\b\f\n\r\t";
    if (at_end()) return false;
    const size_t found = kEscapes.find(text_[at_++]);
    if (found == std::string_view::npos) return false;
    if (into != nullptr) *into += kCharacters[found];
    return true;
  }
  bool hex4(uint32_t& code) {
    const std::string_view digits = text_.substr(at_, 4);
    const char* const end = digits.data() + digits.size();
    const auto [parsed_to, error] = std::from_chars(digits.data(), end, code, 16);
    if (digits.size() < 4 || error != std::errc() || parsed_to != end) return false;
    at_ += 4;
    return true;
  }
  // Two escapes are one character if they are a surrogate pair.
  bool character(std::string* into) {
    uint32_t code = 0, low = 0;
    if (!hex4(code)) return false;
    const size_t after = at_;
    if (code >= 0xD800 && code < 0xDC00 && word("\\u") && hex4(low) && low >= 0xDC00 && low < 0xE000) {
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else {
      at_ = after;
      if (code >= 0xD800 && code < 0xE000) code = 0xFFFD;
    }
    if (into != nullptr) append_utf8(*into, code);
    return true;
  }
  static void append_utf8(std::string& out, uint32_t code) {
    if (code < 0x80) {
      out += static_cast<char>(code);
      return;
    }
    const int tail_bytes = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr uint32_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
    out += static_cast<char>(kLead[tail_bytes] | code >> 6 * tail_bytes);
    for (int k = tail_bytes - 1; k >= 0; --k) out += static_cast<char>(0x80 | (code >> 6 * k & 0x3F));
  }
  bool members(int depth, char closing) {
    ++at_;
    skip_space();
    if (take(closing)) return true;
    while (true) {
      if (closing == '}' && !key(nullptr)) return false;
      if (!value(depth + 1)) return false;
      skip_space();
      if (take(closing)) return true;
      if (!take(',')) return false;
    }
  }

  std::string_view text_;
  int max_depth_;
  size_t at_ = 0;
};

// For values inside a text that was checked.
constexpr int kAnyDepth = std::numeric_limits<int>::max();

}  // namespace

std::optional<size_t> find_json_error(std::string_view text, int max_depth) {
  JsonReader reader(text, max_depth);
  if (!reader.value(0)) return reader.position();
  reader.skip_space();
  if (reader.at_end()) return std::nullopt;
  return reader.position();
}

JsonView::JsonView(std::string_view text) {
  JsonReader reader(text, kAnyDepth);
  reader.skip_space();
  const size_t begin = reader.position();
  (void)reader.value(0);
  text_ = text.substr(begin, reader.position() - begin);
}

std::string JsonView::string() const {
  std::string characters;
  JsonReader reader(text_, kAnyDepth);
  (void)reader.string(&characters);
  return characters;
}

void JsonView::for_each(const std::function<void(const std::string& key, JsonView value)>& visit) const {
  JsonReader reader(text_, kAnyDepth);
  if (!reader.take('{') && !reader.take('[')) return;
  reader.skip_space();
  if (reader.take('}') || reader.take(']')) return;
  do {
    std::string key;
    if (is_object()) (void)reader.key(&key);
    reader.skip_space();
    const size_t begin = reader.position();
    (void)reader.value(0);
    visit(key, JsonView(text_.substr(begin, reader.position() - begin)));
    reader.skip_space();
  } while (reader.take(','));
}

}  // namespace openaclnn
