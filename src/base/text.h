// Text helpers for error messages: concatenation and shapes, without a formatting library.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace openaclnn {

inline void append_text(std::string& out, std::string_view piece) { out += piece; }

// The number as printf's %.*g or %.*f write it in the C locale. printf itself writes a comma where the program chose
// a locale that has one, and JSON and pictures with commas are invalid. Requires at most 17 digits.
inline std::string number_text(double number, int digits,
                               std::chars_format format = std::chars_format::general) {
  std::array<char, 400> text;  // %.17f of the largest double has 327
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number, format, digits).ptr};
}

template <class Number>
requires std::is_arithmetic_v<Number>
void append_text(std::string& out, Number number) {
  if constexpr (std::is_floating_point_v<Number>) {
    out += number_text(number, 6);
  } else {
    out += std::to_string(number);
  }
}

// text("rank ", 9, " exceeds 8") == "rank 9 exceeds 8"
template <class... Pieces>
std::string text(const Pieces&... pieces) {
  std::string out;
  (append_text(out, pieces), ...);
  return out;
}

// Formats a handle or an address: "0x5300000010000000".
inline std::string address_text(const void* address) {
  std::array<char, 24> digits;
  std::snprintf(digits.data(), digits.size(), "0x%llx",
                static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(address)));
  return digits.data();
}

// Formats a shape: "[2, 3]", or "[]" for rank 0.
inline std::string shape_text(std::span<const int64_t> dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) out += ", ";
    out += std::to_string(dims[i]);
  }
  return out + "]";
}

}  // namespace openaclnn
