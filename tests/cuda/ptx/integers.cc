// Computes PTX's instructions on integers and bits.
#include <algorithm>
#include <bit>

#include "cuda/ptx/arithmetic.h"

namespace openaclnn::ptx {

namespace {

// ---- bits ----

// Shifts by the width or more give the result of shifting one by one.
template <class T>
T shifted_left(T x, uint32_t by) {
  return by < 8 * sizeof(T) ? static_cast<T>(x << by) : T(0);
}
template <class T>
T shifted_right(T x, uint32_t by) {
  if (by < 8 * sizeof(T)) return static_cast<T>(x >> by);
  return std::is_signed_v<T> && x < 0 ? T(-1) : T(0);
}

template <class T>
T inserted(T value, T into, uint32_t position, uint32_t length) {
  position &= 255;
  length &= 255;
  const T mask = shifted_left(static_cast<T>(shifted_left(T(1), length) - 1), position);
  return (into & ~mask) | (shifted_left(value, position) & mask);
}

// Bits that lie beyond the field or the word are zero, or copies of the field's last bit that lies in the word.
template <class T>
T extracted(T from, uint32_t position, uint32_t length) {
  position &= 255;
  length &= 255;
  if (length == 0) return 0;
  constexpr uint32_t kBits = 8 * sizeof(T);
  using Word = std::make_unsigned_t<T>;
  const Word word = static_cast<Word>(from);
  const uint32_t taken = position < kBits ? std::min(length, kBits - position) : 0;
  const Word mask = static_cast<Word>(shifted_left(Word(1), taken) - 1);
  const Word bits = shifted_right(word, position) & mask;
  const uint32_t last = std::min(position + length, kBits) - 1;
  const bool is_negative = std::is_signed_v<T> && (word >> last & 1) != 0;
  return static_cast<T>(is_negative ? bits | ~mask : bits);
}

uint32_t permuted(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t bytes = a | uint64_t{b} << 32;
  uint32_t result = 0;
  for (unsigned k = 0; k < 4; ++k) {
    const uint32_t choice = selector >> 4 * k & 15;
    uint32_t byte = static_cast<uint32_t>(bytes >> 8 * (choice & 7)) & 255;
    if ((choice & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
    result |= byte << 8 * k;
  }
  return result;
}

template <class T>
T reversed(T x) {
  T result = 0;
  for (size_t k = 0; k < 8 * sizeof(T); ++k) result |= (x >> k & 1) << (8 * sizeof(T) - 1 - k);
  return result;
}

template <class T>
void add_bits(Table& t, const std::string& type) {
  add_moves<T>(t, type);
  t.add<T, T>("and." + type, [](T a, T b) { return static_cast<T>(a & b); });
  t.add<T, T>("or." + type, [](T a, T b) { return static_cast<T>(a | b); });
  t.add<T, T>("xor." + type, [](T a, T b) { return static_cast<T>(a ^ b); });
  t.add<T>("not." + type, [](T a) { return static_cast<T>(~a); });
  t.add<T, uint32_t>("shl." + type, [](T x, uint32_t by) { return shifted_left(x, by); });
  t.add<T, uint32_t>("shr." + type, [](T x, uint32_t by) { return shifted_right(x, by); });
}

void add_words(Table& t) {
  t.add<uint32_t>("popc.b32", [](uint32_t x) { return std::popcount(x); });
  t.add<uint64_t>("popc.b64", [](uint64_t x) { return std::popcount(x); });
  t.add<uint32_t>("clz.b32", [](uint32_t x) { return std::countl_zero(x); });
  t.add<uint64_t>("clz.b64", [](uint64_t x) { return std::countl_zero(x); });
  t.add<uint32_t>("brev.b32", [](uint32_t x) { return reversed(x); });
  t.add<uint64_t>("brev.b64", [](uint64_t x) { return reversed(x); });
  t.add<uint32_t>("bfind.u32", [](uint32_t x) { return 31 - std::countl_zero(x); });  // -1 for 0
  t.add<uint32_t>("bfind.shiftamt.u32", [](uint32_t x) { return x != 0 ? std::countl_zero(x) : -1; });
  t.add<uint32_t, uint32_t>("bmsk.clamp.b32", [](uint32_t position, uint32_t width) {
    return shifted_left(static_cast<uint32_t>(shifted_left(1u, width) - 1), position);
  });
  t.add<uint32_t, uint32_t, uint32_t, uint32_t>("bfi.b32", calls<inserted<uint32_t>>);
  t.add<uint64_t, uint64_t, uint32_t, uint32_t>("bfi.b64", calls<inserted<uint64_t>>);
  t.add<uint32_t, uint32_t, uint32_t>("bfe.u32", calls<extracted<uint32_t>>);
  t.add<int32_t, uint32_t, uint32_t>("bfe.s32", calls<extracted<int32_t>>);
  t.add<uint64_t, uint32_t, uint32_t>("bfe.u64", calls<extracted<uint64_t>>);
  t.add<int64_t, uint32_t, uint32_t>("bfe.s64", calls<extracted<int64_t>>);
  t.add<uint32_t, uint32_t, uint32_t>("prmt.b32", calls<permuted>);
  t.add<uint32_t, uint32_t, uint32_t, uint32_t>(
      "lop3.b32", [](uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
        uint32_t result = 0;
        for (unsigned row = 0; row < 8; ++row) {
          if ((table >> row & 1) == 0) continue;
          result |= ((row & 4) != 0 ? a : ~a) & ((row & 2) != 0 ? b : ~b) & ((row & 1) != 0 ? c : ~c);
        }
        return result;
      });
  t.add<uint32_t, uint32_t, uint32_t>("shf.l.wrap.b32", [](uint32_t low, uint32_t high, uint32_t by) {
    return static_cast<uint32_t>((low | uint64_t{high} << 32) << (by & 31) >> 32);
  });
  t.add<uint32_t, uint32_t, uint32_t>("shf.r.wrap.b32", [](uint32_t low, uint32_t high, uint32_t by) {
    return static_cast<uint32_t>((low | uint64_t{high} << 32) >> (by & 31));
  });
  // Parts of moves between a register and several, which have no names in PTX.
  t.add<uint16_t, uint16_t>("pack.b16x2", [](uint16_t a, uint16_t b) { return a | uint32_t{b} << 16; });
  t.add<uint32_t, uint32_t>("pack.b32x2", [](uint32_t a, uint32_t b) { return a | uint64_t{b} << 32; });
  t.add<uint16_t, uint16_t, uint16_t, uint16_t>(
      "pack.b16x4", [](uint16_t a, uint16_t b, uint16_t c, uint16_t d) {
        return a | uint64_t{b} << 16 | uint64_t{c} << 32 | uint64_t{d} << 48;
      });
}

// ---- integers ----

// Sums, differences and products wrap around, in unsigned arithmetic of at least the width of int.
template <class T>
using Bits = std::common_type_t<std::make_unsigned_t<T>, unsigned>;

template <class T>
void add_equality(Table& t, const std::string& type) {
  add_comparison<T>(t, "eq", type, [](T a, T b) { return a == b; });
  add_comparison<T>(t, "ne", type, [](T a, T b) { return a != b; });
}

template <class T>
void add_integer(Table& t, const std::string& type) {
  add_bits<T>(t, type);
  add_equality<T>(t, type);
  add_comparison<T>(t, "lt", type, [](T a, T b) { return a < b; });
  add_comparison<T>(t, "le", type, [](T a, T b) { return a <= b; });
  add_comparison<T>(t, "gt", type, [](T a, T b) { return a > b; });
  add_comparison<T>(t, "ge", type, [](T a, T b) { return a >= b; });
  t.add<T, T>("add." + type, [](T a, T b) { return static_cast<T>(Bits<T>(a) + Bits<T>(b)); });
  t.add<T, T>("sub." + type, [](T a, T b) { return static_cast<T>(Bits<T>(a) - Bits<T>(b)); });
  t.add<T, T>("mul.lo." + type, [](T a, T b) { return static_cast<T>(Bits<T>(a) * Bits<T>(b)); });
  t.add<T, T, T>("mad.lo." + type,
                 [](T a, T b, T c) { return static_cast<T>(Bits<T>(a) * Bits<T>(b) + Bits<T>(c)); });
  t.add<T, T>("min." + type, [](T a, T b) { return std::min(a, b); });
  t.add<T, T>("max." + type, [](T a, T b) { return std::max(a, b); });
  t.add<T>("neg." + type, [](T a) { return static_cast<T>(0 - Bits<T>(a)); });
  t.add<T>("abs." + type, [](T a) { return a < 0 ? static_cast<T>(0 - Bits<T>(a)) : a; });
  // The quotient by zero is not specified. The quotient of the least number and -1 is the least number.
  // Inactive lanes may have either.
  t.add<T, T>("div." + type, [](T a, T b) {
    if (b == 0) return static_cast<T>(~T(0));
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(0 - Bits<T>(a));
    return static_cast<T>(a / b);
  });
  t.add<T, T>("rem." + type, [](T a, T b) {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return T(0);
    return static_cast<T>(a % b);
  });
}

template <class T, class Wide>
void add_wide_products(Table& t, const std::string& type) {
  t.add<T, T>("mul.wide." + type, [](T a, T b) { return static_cast<Wide>(Wide(a) * Wide(b)); });
  t.add<T, T, Wide>("mad.wide." + type, [](T a, T b, Wide c) {
    return static_cast<Wide>(std::make_unsigned_t<Wide>(Wide(a) * Wide(b)) + std::make_unsigned_t<Wide>(c));
  });
  t.add<T, T>("mul.hi." + type, [](T a, T b) { return static_cast<T>(Wide(a) * Wide(b) >> 8 * sizeof(T)); });
}

template <class To, class From>
void add_conversion(Table& t, const std::string& to, const std::string& from) {
  t.add<From>("cvt." + to + "." + from, [](From x) { return static_cast<To>(x); });
}

template <class T>
void add_conversions(Table& t, const std::string& type) {
  add_conversion<uint8_t, T>(t, "u8", type);
  add_conversion<int8_t, T>(t, "s8", type);
  add_conversion<uint16_t, T>(t, "u16", type);
  add_conversion<int16_t, T>(t, "s16", type);
  add_conversion<uint32_t, T>(t, "u32", type);
  add_conversion<int32_t, T>(t, "s32", type);
  add_conversion<uint64_t, T>(t, "u64", type);
  add_conversion<int64_t, T>(t, "s64", type);
}

}  // namespace

void add_integers(Table& t) {
  for_each_integer([&]<class T>(T, const std::string& type) {
    add_conversions<T>(t, type);
    if constexpr (sizeof(T) > 1) add_integer<T>(t, type);
  });
  add_bits<uint16_t>(t, "b16");
  add_bits<uint32_t>(t, "b32");
  add_bits<uint64_t>(t, "b64");
  add_equality<uint16_t>(t, "b16");
  add_equality<uint32_t>(t, "b32");
  add_equality<uint64_t>(t, "b64");
  add_words(t);
  add_wide_products<uint16_t, uint32_t>(t, "u16");
  add_wide_products<int16_t, int32_t>(t, "s16");
  add_wide_products<uint32_t, uint64_t>(t, "u32");
  add_wide_products<int32_t, int64_t>(t, "s32");
  t.add<uint64_t, uint64_t>("mul.hi.u64", [](uint64_t a, uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint64_t>(Wide(a) * b >> 64);
  });
}

}  // namespace openaclnn::ptx
