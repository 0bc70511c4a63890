// Text helpers for error messages: concatenation and shapes, without a formatting library.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace openaclnn {

inline void append_text(std::string& out, std::string_view piece) { out += piece; }

template <class Number>
requires std::is_arithmetic_v<Number>
void append_text(std::string& out, Number number) { out += std::to_string(number); }

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
