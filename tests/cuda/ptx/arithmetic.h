// The results of PTX's instructions without side effects, following NVIDIA's reference of the instruction
// set, in a table by their full names.
//
// The table has only instructions with one result on every GPU. Instructions that ptxas may contract to
// others (add.f32 without .rn), approximations and flushes of subnormal numbers are left out on purpose: a
// kernel with one of them does not promise the CPU's bits, and is rejected.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "cuda/ptx/program.h"

namespace openaclnn::ptx {

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
  }
  (std::index_sequence_for<From...>());
}

// A function as a stateless object.
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

// Moves accept any type: numbers do not change.
template <class T>
void add_moves(Table& t, const std::string& type) {
  t.add<T>("mov." + type, [](T x) { return x; });
  t.add<T, T, Predicate>("selp." + type, [](T a, T b, Predicate p) { return p.is_true ? a : b; });
}

template <class T, class F>
void add_comparison(Table& t, const std::string& name, const std::string& type, F) {
  t.add<T, T>("setp." + name + "." + type, [](T a, T b) { return F{}(a, b); });
  t.add<T, T, Predicate>("setp." + name + ".and." + type,
                         [](T a, T b, Predicate p) { return F{}(a, b) && p.is_true; });
  t.add<T, T, Predicate>("setp." + name + ".or." + type,
                         [](T a, T b, Predicate p) { return F{}(a, b) || p.is_true; });
  t.add<T, T, Predicate>("setp." + name + ".xor." + type,
                         [](T a, T b, Predicate p) { return F{}(a, b) != p.is_true; });
}

// Calls f(a value of the type, its name).
template <class F>
void for_each_integer(F f) {
  f(uint8_t{}, "u8");
  f(int8_t{}, "s8");
  f(uint16_t{}, "u16");
  f(int16_t{}, "s16");
  f(uint32_t{}, "u32");
  f(int32_t{}, "s32");
  f(uint64_t{}, "u64");
  f(int64_t{}, "s64");
}

void add_integers(Table& table);
void add_numbers(Table& table);

}  // namespace openaclnn::ptx
