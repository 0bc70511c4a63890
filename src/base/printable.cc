// Replaces characters that could control a terminal.
#include "base/printable.h"

#include <algorithm>

#include "base/utf8.h"

namespace openaclnn {

namespace {

// `character` is one UTF-8 character.
bool is_shown(std::string_view character) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(character[k]); };
  if (character.size() == 1) return byte(0) >= 0x20 && byte(0) != 0x7F;
  if (byte(0) == 0xC2) return byte(1) >= 0xA0;  // U+0080 to U+009F: C1, including the one-byte form of ESC [
  if (character == "\u061C") return false;      // the Arabic letter mark
  if (byte(0) != 0xE2) return true;
  // U+200E and U+200F, U+2028 to U+202E, U+2066 to U+2069: line breaks and direction marks, which can
  // disguise a name.
  const bool is_mark = byte(1) == 0x80 && (byte(2) == 0x8E || byte(2) == 0x8F);
  const bool is_break_or_embedding = byte(1) == 0x80 && byte(2) >= 0xA8 && byte(2) <= 0xAE;
  const bool is_isolate = byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9;
  return !is_mark && !is_break_or_embedding && !is_isolate;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const size_t bytes = utf8_bytes(text);
    const std::string_view character = text.substr(0, bytes);
    if (bytes > 0 && is_shown(character)) {
      shown += character;
    } else {
      shown += '?';
    }
    text.remove_prefix(bytes > 0 ? bytes : 1);
  }
  return shown;
}

void make_printable(std::span<char> text) noexcept {
  while (!text.empty()) {
    const std::string_view left(text.data(), text.size());
    const size_t bytes = utf8_bytes(left);
    const size_t replaced = bytes > 0 ? bytes : 1;
    if (bytes == 0 || !is_shown(left.substr(0, bytes))) std::fill_n(text.begin(), replaced, '?');
    text = text.subspan(replaced);
  }
}

}  // namespace openaclnn
