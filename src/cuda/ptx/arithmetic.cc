// What PTX's instructions without side effects compute, as NVIDIA's reference of the instruction set says it.
//
// Only what has one result on every GPU is here. Instructions that ptxas may contract to others (add.f32 without .rn), approximations
// and flushes of subnormal numbers are left out on purpose: a kernel that has one does not promise the CPU's bits, and is refused.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "cuda/ptx/program.h"

namespace openaclnn::ptx {

namespace {

struct Predicate {
  bool is_true;
};
struct Half {
  uint16_t bits;
};

template <class T>
T value_of(uint64_t word) {
  if constexpr (std::is_same_v<T, Predicate>) {
    return {(word & 1) != 0};
  } else {
    T value;
    std::memcpy(&value, &word, sizeof value);  // the lowest bytes: hosts are little endian
    return value;
  }
}
template <class T>
uint64_t word_of(T value) {
  if constexpr (std::is_same_v<T, Predicate> || std::is_same_v<T, bool>) {
    return std::bit_cast<uint8_t>(value) & 1u;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  } else {
    uint64_t word = 0;
    std::memcpy(&word, &value, sizeof value);
    return word;
  }
}

template <class F, class... From>
void in_each_lane(Lanes& to, const Lanes* const (&from)[4]) {
  [&]<size_t... k>(std::index_sequence<k...>) {
    for (int lane = 0; lane < kLanes; ++lane)
      to.of[lane] = word_of(F{}(value_of<From>(from[k]->of[lane])...));
  }(std::index_sequence_for<From...>());
}

// A function as something without a state.
template <auto kFunction>
inline constexpr auto calls = [](auto... x) { return kFunction(x...); };

class Table {
 public:
  template <class... From, class F>
  void add(const std::string& opcode, F) {
    static_assert(std::is_empty_v<F>);
    entries_[opcode] = in_each_lane<F, From...>;
  }
  Arithmetic find(std::string_view opcode) const {
    const auto found = entries_.find(std::string(opcode));
    return found != entries_.end() ? found->second : nullptr;
  }

 private:
  std::unordered_map<std::string, Arithmetic> entries_;
};

// ---- bits ----

// Shifts by the width and more give what shifting one by one would.
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

template <class T>
T extracted(T from, uint32_t position, uint32_t length) {
  position &= 255;
  length &= 255;
  constexpr uint32_t kBits = 8 * sizeof(T);
  using Bits = std::make_unsigned_t<T>;
  if (length == 0) return 0;
  const Bits mask = static_cast<Bits>(shifted_left(Bits(1), length) - 1);
  Bits bits = shifted_right(static_cast<Bits>(from), position) & mask;
  if (std::is_signed_v<T>) {
    const uint32_t top = std::min(position + length - 1, kBits - 1);
    if ((shifted_right(static_cast<Bits>(from), top) & 1) != 0) bits |= ~mask;
  }
  return static_cast<T>(bits);
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
  t.add<T>("mov." + type, [](T x) { return x; });
  t.add<T, T, Predicate>("selp." + type, [](T a, T b, Predicate p) { return p.is_true ? a : b; });
  if constexpr (std::is_integral_v<T>) {
    t.add<T, T>("and." + type, [](T a, T b) { return static_cast<T>(a & b); });
    t.add<T, T>("or." + type, [](T a, T b) { return static_cast<T>(a | b); });
    t.add<T, T>("xor." + type, [](T a, T b) { return static_cast<T>(a ^ b); });
    t.add<T>("not." + type, [](T a) { return static_cast<T>(~a); });
    t.add<T, uint32_t>("shl." + type, [](T x, uint32_t by) { return shifted_left(x, by); });
    t.add<T, uint32_t>("shr." + type, [](T x, uint32_t by) { return shifted_right(x, by); });
  }
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
  // Parts of moves between a register and several, which have no names of their own in PTX.
  t.add<uint16_t, uint16_t>("pack.b16x2", [](uint16_t a, uint16_t b) { return a | uint32_t{b} << 16; });
  t.add<uint32_t, uint32_t>("pack.b32x2", [](uint32_t a, uint32_t b) { return a | uint64_t{b} << 32; });
  t.add<uint16_t, uint16_t, uint16_t, uint16_t>(
      "pack.b16x4", [](uint16_t a, uint16_t b, uint16_t c, uint16_t d) {
        return a | uint64_t{b} << 16 | uint64_t{c} << 32 | uint64_t{d} << 48;
      });
}

// ---- integers ----

// The sum, difference and product wrap around, in unsigned arithmetic of at least the width of int.
template <class T>
using Bits = std::common_type_t<std::make_unsigned_t<T>, unsigned>;

template <class T, class F>
void add_comparison(Table& t, const std::string& name, const std::string& type, F) {
  t.add<T, T>("setp." + name + "." + type, [](T a, T b) { return F{}(a, b); });
  t.add<T, T, Predicate>("setp." + name + ".and." + type, [](T a, T b, Predicate p) { return F{}(a, b) && p.is_true; });
  t.add<T, T, Predicate>("setp." + name + ".or." + type, [](T a, T b, Predicate p) { return F{}(a, b) || p.is_true; });
  t.add<T, T, Predicate>("setp." + name + ".xor." + type, [](T a, T b, Predicate p) { return F{}(a, b) != p.is_true; });
}

template <class T>
void add_equality(Table& t, const std::string& type) {
  add_comparison<T>(t, "eq", type, [](T a, T b) { return a == b; });
  add_comparison<T>(t, "ne", type, [](T a, T b) { return a != b; });
}

template <class T>
void add_integers(Table& t, const std::string& type) {
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
  // The quotient by zero is not specified; of the least number by -1 it is the least number. Inactive lanes may have either.
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

// ---- numbers ----

// Single precision has one NaN that instructions give. Double precision keeps the operand's.
float result(float x) { return x != x ? std::bit_cast<float>(0x7FFFFFFFu) : x; }
double result(double x) { return x; }

// The other operand where one is NaN; -0 is less than +0.
template <class T>
T least(T a, T b) {
  if (a != a || b != b) return result(a != a ? b : a);
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
template <class T>
T greatest(T a, T b) {
  if (a != a || b != b) return result(a != a ? b : a);
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}

template <class T>
void add_numbers(Table& t, const std::string& type) {
  add_bits<T>(t, type);
  add_comparison<T>(t, "eq", type, [](T a, T b) { return a == b; });
  add_comparison<T>(t, "ne", type, [](T a, T b) { return a < b || a > b; });
  add_comparison<T>(t, "lt", type, [](T a, T b) { return a < b; });
  add_comparison<T>(t, "le", type, [](T a, T b) { return a <= b; });
  add_comparison<T>(t, "gt", type, [](T a, T b) { return a > b; });
  add_comparison<T>(t, "ge", type, [](T a, T b) { return a >= b; });
  add_comparison<T>(t, "equ", type, [](T a, T b) { return !(a < b || a > b); });
  add_comparison<T>(t, "neu", type, [](T a, T b) { return a != b; });
  add_comparison<T>(t, "ltu", type, [](T a, T b) { return !(a >= b); });
  add_comparison<T>(t, "leu", type, [](T a, T b) { return !(a > b); });
  add_comparison<T>(t, "gtu", type, [](T a, T b) { return !(a <= b); });
  add_comparison<T>(t, "geu", type, [](T a, T b) { return !(a < b); });
  add_comparison<T>(t, "num", type, [](T a, T b) { return a == a && b == b; });
  add_comparison<T>(t, "nan", type, [](T a, T b) { return a != a || b != b; });
  t.add<T, T>("add.rn." + type, [](T a, T b) { return result(a + b); });
  t.add<T, T>("sub.rn." + type, [](T a, T b) { return result(a - b); });
  t.add<T, T>("mul.rn." + type, [](T a, T b) { return result(a * b); });
  t.add<T, T>("div.rn." + type, [](T a, T b) { return result(a / b); });
  t.add<T>("rcp.rn." + type, [](T a) { return result(1 / a); });
  t.add<T>("sqrt.rn." + type, [](T a) { return result(std::sqrt(a)); });
  t.add<T, T, T>("fma.rn." + type, [](T a, T b, T c) { return result(std::fma(a, b, c)); });
  t.add<T>("abs." + type, [](T a) { return std::fabs(a); });
  t.add<T>("neg." + type, [](T a) { return -a; });
  t.add<T, T>("min." + type, calls<least<T>>);
  t.add<T, T>("max." + type, calls<greatest<T>>);
}

// ---- conversions ----

template <class To, class From>
void add_integer_conversion(Table& t, const std::string& to, const std::string& from) {
  t.add<From>("cvt." + to + "." + from, [](From x) { return static_cast<To>(x); });
}

// Towards zero or as rounded before, within the type's limits. NaN: 0, but 2^(bits - 1) from or to 64 bits.
template <class To, class From>
To to_integer(From x) {
  using Limits = std::numeric_limits<To>;
  if (x != x) {
    const bool is_wide = sizeof(From) == 8 || sizeof(To) == 8;
    return is_wide ? static_cast<To>(std::make_unsigned_t<To>(1) << (8 * sizeof(To) - 1)) : To(0);
  }
  if (x < static_cast<From>(Limits::min())) return Limits::min();
  if (x >= std::ldexp(From(1), Limits::digits)) return Limits::max();
  return static_cast<To>(x);
}

template <class T>
void add_conversions(Table& t, const std::string& type) {
  add_integer_conversion<uint8_t, T>(t, "u8", type);
  add_integer_conversion<int8_t, T>(t, "s8", type);
  add_integer_conversion<uint16_t, T>(t, "u16", type);
  add_integer_conversion<int16_t, T>(t, "s16", type);
  add_integer_conversion<uint32_t, T>(t, "u32", type);
  add_integer_conversion<int32_t, T>(t, "s32", type);
  add_integer_conversion<uint64_t, T>(t, "u64", type);
  add_integer_conversion<int64_t, T>(t, "s64", type);
  t.add<T>("cvt.rn.f32." + type, [](T x) { return static_cast<float>(x); });
  t.add<T>("cvt.rn.f64." + type, [](T x) { return static_cast<double>(x); });
  t.add<float>("cvt.rzi." + type + ".f32", [](float x) { return to_integer<T>(std::trunc(x)); });
  t.add<double>("cvt.rzi." + type + ".f64", [](double x) { return to_integer<T>(std::trunc(x)); });
}

uint16_t to_half(float x) { return x != x ? uint16_t{0x7FFF} : std::bit_cast<uint16_t>(static_cast<_Float16>(x)); }

// The upper half, rounded to nearest even.
uint16_t upper_half(float x) {
  if (x != x) return 0x7FFF;
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

void add_float_conversions(Table& t) {
  t.add<float>("cvt.f64.f32", [](float x) { return static_cast<double>(x); });
  t.add<double>("cvt.rn.f32.f64", [](double x) { return result(static_cast<float>(x)); });
  t.add<Half>("cvt.f32.f16", [](Half x) { return result(static_cast<float>(std::bit_cast<_Float16>(x.bits))); });
  t.add<float>("cvt.rn.f16.f32", calls<to_half>);
  t.add<Half>("cvt.f32.bf16", [](Half x) { return result(std::bit_cast<float>(uint32_t{x.bits} << 16)); });
  t.add<float>("cvt.rn.bf16.f32", calls<upper_half>);
  // The second operand goes to the lower half.
  t.add<float, float>("cvt.rn.f16x2.f32", [](float high, float low) { return uint32_t{to_half(high)} << 16 | to_half(low); });
  t.add<float, float>("cvt.rn.bf16x2.f32", [](float high, float low) { return uint32_t{upper_half(high)} << 16 | upper_half(low); });
}

Table make_table() {
  Table t;
  add_integers<uint16_t>(t, "u16");
  add_integers<int16_t>(t, "s16");
  add_integers<uint32_t>(t, "u32");
  add_integers<int32_t>(t, "s32");
  add_integers<uint64_t>(t, "u64");
  add_integers<int64_t>(t, "s64");
  add_bits<uint16_t>(t, "b16");
  add_bits<uint32_t>(t, "b32");
  add_bits<uint64_t>(t, "b64");
  add_equality<uint16_t>(t, "b16");
  add_equality<uint32_t>(t, "b32");
  add_equality<uint64_t>(t, "b64");
  t.add<Predicate>("mov.pred", [](Predicate p) { return p; });
  t.add<Predicate>("not.pred", [](Predicate p) { return !p.is_true; });
  t.add<Predicate, Predicate>("and.pred", [](Predicate a, Predicate b) { return a.is_true && b.is_true; });
  t.add<Predicate, Predicate>("or.pred", [](Predicate a, Predicate b) { return a.is_true || b.is_true; });
  t.add<Predicate, Predicate>("xor.pred", [](Predicate a, Predicate b) { return a.is_true != b.is_true; });
  add_words(t);
  add_wide_products<uint16_t, uint32_t>(t, "u16");
  add_wide_products<int16_t, int32_t>(t, "s16");
  add_wide_products<uint32_t, uint64_t>(t, "u32");
  add_wide_products<int32_t, int64_t>(t, "s32");
  t.add<uint64_t, uint64_t>("mul.hi.u64", [](uint64_t a, uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint64_t>(Wide(a) * b >> 64);
  });
  add_numbers<float>(t, "f32");
  add_numbers<double>(t, "f64");
  add_conversions<uint8_t>(t, "u8");
  add_conversions<int8_t>(t, "s8");
  add_conversions<uint16_t>(t, "u16");
  add_conversions<int16_t>(t, "s16");
  add_conversions<uint32_t>(t, "u32");
  add_conversions<int32_t>(t, "s32");
  add_conversions<uint64_t>(t, "u64");
  add_conversions<int64_t>(t, "s64");
  add_float_conversions(t);
  // Addresses: those of global memory are the host's, the others lie in windows of their own.
  for (const char* space : {"cvta.to.global.u64", "cvta.global.u64"}) t.add<uint64_t>(space, [](uint64_t a) { return a; });
  t.add<uint64_t>("cvta.shared.u64", [](uint64_t a) { return a + kSharedWindow; });
  t.add<uint64_t>("cvta.to.shared.u64", [](uint64_t a) { return a - kSharedWindow; });
  t.add<uint64_t>("cvta.param.u64", [](uint64_t a) { return a + kParameterWindow; });
  t.add<uint64_t>("cvta.to.param.u64", [](uint64_t a) { return a - kParameterWindow; });
  return t;
}

}  // namespace

Arithmetic find_arithmetic(std::string_view opcode) {
  static const Table table = make_table();
  return table.find(opcode);
}

}  // namespace openaclnn::ptx
