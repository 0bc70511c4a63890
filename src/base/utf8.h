// Checks UTF-8 characters.
#pragma once

#include <cstddef>
#include <string_view>

namespace openaclnn {

// Returns the size in bytes of the first UTF-8 character of a non-empty text, or 0 if the text does not start
// with one.
inline size_t utf8_bytes(std::string_view text) {
  const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[k]); };
  if (byte(0) < 0x80) return 1;
  const size_t wanted = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) >= 0xF5 || text.size() < wanted) return 0;
  for (size_t k = 1; k < wanted; ++k) {
    if ((byte(k) & 0xC0) != 0x80) return 0;
  }
  // Rejects overlong forms, surrogates, and values beyond U+10FFFF.
  const unsigned second = byte(1);
  const bool is_wrong = (byte(0) == 0xE0 && second < 0xA0) || (byte(0) == 0xED && second >= 0xA0) ||
                        (byte(0) == 0xF0 && second < 0x90) || (byte(0) == 0xF4 && second >= 0x90);
  return is_wrong ? 0 : wanted;
}

}  // namespace openaclnn
