// Characters of UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace openaclnn {

// Bytes of the character of UTF-8 that the text, which is not empty, begins with; 0 when it does not begin with one.
inline size_t utf8_bytes(std::string_view text) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  if (byte(0) < 0x80) return 1;
  const size_t wanted = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) >= 0xF5 || text.size() < wanted) return 0;
  for (size_t k = 1; k < wanted; ++k) {
    if ((byte(k) & 0xC0) != 0x80) return 0;
  }
  // Neither longer than needed, nor half of a pair, nor beyond the last character.
  const unsigned second = byte(1);
  const bool is_wrong = (byte(0) == 0xE0 && second < 0xA0) || (byte(0) == 0xED && second >= 0xA0) ||
                        (byte(0) == 0xF0 && second < 0x90) || (byte(0) == 0xF4 && second >= 0x90);
  return is_wrong ? 0 : wanted;
}

}  // namespace openaclnn
