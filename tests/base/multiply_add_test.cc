// Tests the fused multiply-add of every instruction set, and the one for processors without the instruction,
// against exact arithmetic on integers. The triples include ties and their neighbours, cancellation,
// subnormal numbers, overflow, infinities and NaN.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "base/multiply_add.h"
#include "cpu/dispatch.h"
#include "support/verify.h"
#include "vector_conversions.h"
#include "verify/random.h"

namespace openaclnn {
namespace {

using openaclnn_test::Random;

// ---- exact arithmetic ----

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

// The finite number mantissa * 2^exponent.
struct Exact {
  Wide mantissa;
  int exponent;
};

Exact exact_of(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const auto field = static_cast<int>(bits >> 23 & 0xFF);
  const uint32_t mantissa = (bits & 0x7FFFFF) | (field > 0 ? 0x800000u : 0u);
  return {std::signbit(x) ? -Wide{mantissa} : Wide{mantissa}, std::max(field, 1) - 150};
}

// Returns a number with the same rounding as x + y, for x and y below 2^48. If one of them is much smaller
// than half of the last place of the other, only its sign matters.
Exact sum_of(Exact x, Exact y) {
  constexpr int kFar = 75;
  if (x.exponent < y.exponent) std::swap(x, y);
  if (x.mantissa == 0) return y;
  const int shift = x.exponent - y.exponent;
  if (shift <= kFar) return {x.mantissa * (Wide{1} << shift) + y.mantissa, y.exponent};
  const int sign = y.mantissa > 0 ? 1 : y.mantissa < 0 ? -1 : 0;
  return {x.mantissa * (Wide{1} << kFar) + sign, x.exponent - kFar};
}

int bits_of(UnsignedWide x) {
  const auto high = static_cast<uint64_t>(x >> 64);
  return high != 0 ? 64 + static_cast<int>(std::bit_width(high))
                   : static_cast<int>(std::bit_width(static_cast<uint64_t>(x)));
}

// Rounds a number other than zero to nearest even.
float rounded(const Exact& x) {
  const bool is_negative = x.mantissa < 0;
  const auto magnitude = static_cast<UnsignedWide>(is_negative ? -x.mantissa : x.mantissa);
  const int last_place = std::max(x.exponent + bits_of(magnitude) - 24, -149);
  const int dropped = last_place - x.exponent;
  double value = 0;  // in units of the last place; exact, because it has at most 24 bits
  if (dropped <= 0) {
    value = std::ldexp(static_cast<double>(static_cast<uint64_t>(magnitude)), -dropped);
  } else if (dropped < 128) {
    const UnsignedWide kept = magnitude >> dropped, rest = magnitude - (kept << dropped);
    const UnsignedWide half = UnsignedWide{1} << (dropped - 1);
    const bool up = rest > half || (rest == half && (kept & 1) != 0);
    value = static_cast<double>(static_cast<uint64_t>(kept)) + (up ? 1 : 0);
  }
  const auto result = static_cast<float>(std::ldexp(value, last_place));  // exact, or overflows
  return is_negative ? -result : result;
}

struct Triple {
  float a, b, c;
};

float exact_multiply_add(const Triple& t) {
  // Zeros, infinities and NaN: IEEE operations on doubles have the prescribed signs.
  const double product = static_cast<double>(t.a) * static_cast<double>(t.b);
  if (!std::isfinite(product) || !std::isfinite(t.c))
    return static_cast<float>(product + static_cast<double>(t.c));
  const Exact a = exact_of(t.a), b = exact_of(t.b);
  const Exact sum = sum_of({a.mantissa * b.mantissa, a.exponent + b.exponent}, exact_of(t.c));
  if (sum.mantissa == 0) return static_cast<float>(product + static_cast<double>(t.c));
  return rounded(sum);
}

// ---- triples ----

float any_float(Random& random) { return std::bit_cast<float>(static_cast<uint32_t>(random.bits())); }

// A number whose mantissa has at most `bits` bits and whose leading bit is 2^exponent.
float short_float(Random& random, int bits, int exponent) {
  const auto fraction = static_cast<double>(random.bits() % (uint64_t{1} << (bits - 1)));
  const double magnitude = std::ldexp(1 + std::ldexp(fraction, 1 - bits), exponent);
  return static_cast<float>(random.bits() % 2 == 0 ? magnitude : -magnitude);
}

int between(Random& random, int low, int high) { return static_cast<int>(random.between(low, high)); }

constexpr int kKinds = 7;

Triple triple_of(int kind, Random& random) {
  switch (kind) {
    case 0: return {any_float(random), any_float(random), any_float(random)};
    case 1: {  // cancels, up to the last places of the product
      const Triple t = {short_float(random, 24, between(random, -70, 60)),
                        short_float(random, 24, between(random, -70, 60)), 0};
      const auto product = std::bit_cast<uint32_t>(-(t.a * t.b));
      return {t.a, t.b, std::bit_cast<float>(product + static_cast<uint32_t>(between(random, -2, 2)))};
    }
    case 2: {  // ties: the product is an odd multiple of half of the last place of c
      const int exponent = between(random, -90, 90), bits = between(random, 1, 12);
      const auto odd = static_cast<float>(random.bits() % (uint64_t{1} << bits) * 2 + 1);
      const auto half_place = static_cast<float>(std::ldexp(random.bits() % 2 == 0 ? 1 : -1, exponent - 24));
      return {odd, half_place, short_float(random, 24, exponent)};
    }
    case 3: {  // next to ties: half of the last place of c, times 1 - k^2 * 2^-46
      const int exponent = between(random, -60, 90);
      const double k = std::ldexp(between(random, 1, 8), -23);
      const double half_place = std::ldexp(random.chance(2) ? 1 : -1, exponent - 24);
      return {static_cast<float>(1 + k), static_cast<float>(half_place * (1 - k)),
              short_float(random, 24, exponent)};
    }
    case 4: {  // next to ties: an odd product, half of which have 25 bits, and a tiny addend
      const int exponent = between(random, -20, 60);
      const auto odd = [&](int64_t least) {
        return static_cast<float>(random.between(least / 2, least - 1) * 2 + 1);
      };
      return {odd(1 << 11), std::ldexp(odd(1 << 12), exponent),
              short_float(random, 24, exponent - between(random, 20, 90))};
    }
    case 5: {  // subnormal results
      const int exponent = between(random, -60, 0), bits = between(random, 1, 24);
      const uint32_t addend = static_cast<uint32_t>(random.bits()) & 0x80FFFFFFu;
      return {short_float(random, bits, exponent),
              short_float(random, bits, between(random, -160, -124) - exponent),
              std::bit_cast<float>(random.bits() % 4 == 0 ? addend & 0x80000007u : addend)};
    }
    default: {  // overflow
      const int exponent = between(random, 1, 126), bits = between(random, 1, 24);
      return {short_float(random, bits, exponent),
              short_float(random, bits, between(random, 125, 128) - exponent),
              short_float(random, 24, between(random, 100, 127))};
    }
  }
}

// ---- levels ----

struct Level {
  std::string name;
  cpu::Isa isa;
  void (*multiply_add)(const float*, const float*, const float*, float*, int64_t);
};

void multiply_add_in_software(const float* a, const float* b, const float* c, float* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = multiply_add(a[i], b[i], c[i]);
}

const Level kLevels[] = {
    {"software", cpu::Isa::baseline, multiply_add_in_software},
    {cpu::isa_name(cpu::Isa::baseline), cpu::Isa::baseline, isa_baseline::multiply_add_all},
#if defined(__x86_64__)
    {cpu::isa_name(cpu::Isa::avx2), cpu::Isa::avx2, isa_avx2::multiply_add_all},
    {cpu::isa_name(cpu::Isa::avx512), cpu::Isa::avx512, isa_avx512::multiply_add_all},
#endif
};

constexpr size_t kBlock = size_t{1} << 14;

struct Block {
  std::vector<float> a, b, c, expected, got;

  Block() : a(kBlock), b(kBlock), c(kBlock), expected(kBlock), got(kBlock) {}

  void draw(Random& random) {
    for (size_t i = 0; i < kBlock; ++i) {
      const Triple t = triple_of(static_cast<int>(i % kKinds), random);
      a[i] = t.a;
      b[i] = t.b;
      c[i] = t.c;
      expected[i] = exact_multiply_add(t);
    }
  }
  bool is_right(size_t i) const {
    if (std::isnan(expected[i])) return std::isnan(got[i]);
    return std::bit_cast<uint32_t>(got[i]) == std::bit_cast<uint32_t>(expected[i]);
  }
};

// OPENACLNN_TEST_TRIPLES: how many triples are tried.
uint64_t triples_to_try() {
  const char* const text = std::getenv("OPENACLNN_TEST_TRIPLES");
  return text != nullptr ? static_cast<uint64_t>(std::strtod(text, nullptr)) : 3'000'000;
}

TEST(MultiplyAdd, RoundsOnce) {
  std::vector<Level> levels;
  for (const Level& level : kLevels) {
    if (level.isa <= cpu::active_isa()) levels.push_back(level);
  }
  const uint64_t blocks = triples_to_try() / kBlock + 1;
  std::vector<std::atomic<uint64_t>> wrong(levels.size());
  std::atomic<uint64_t> next{0}, shown{0};
  const auto work = [&] {
    Block block;
    for (uint64_t number = next++; number < blocks; number = next++) {
      Random random(openaclnn_test::test_seed() + number);
      block.draw(random);
      for (size_t level = 0; level < levels.size(); ++level) {
        levels[level].multiply_add(block.a.data(), block.b.data(), block.c.data(), block.got.data(), kBlock);
        for (size_t i = 0; i < kBlock; ++i) {
          if (block.is_right(i)) continue;
          ++wrong[level];
          if (shown++ < 10) {
            std::printf("%s: fma(%a, %a, %a) = %a, not %a\n", levels[level].name.c_str(),
                        static_cast<double>(block.a[i]), static_cast<double>(block.b[i]),
                        static_cast<double>(block.c[i]), static_cast<double>(block.expected[i]),
                        static_cast<double>(block.got[i]));
          }
        }
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned k = 0; k < std::max(std::thread::hardware_concurrency(), 1u); ++k) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  for (size_t level = 0; level < levels.size(); ++level) {
    EXPECT_EQ(wrong[level].load(), 0u) << levels[level].name;
    std::printf("added %s %llu products, %llu mismatches\n", levels[level].name.c_str(),
                static_cast<unsigned long long>(blocks * kBlock),
                static_cast<unsigned long long>(wrong[level].load()));
  }
}

// The exact arithmetic is right where the results are known by hand.
TEST(MultiplyAdd, TheExactArithmeticIsRight) {
  struct Known {
    Triple t;
    float result;
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Known all[] = {
      {{0x1.000002p0f, 0x1.000002p0f, -0x1.000004p0f}, 0x1p-46f},  // a separate product would cancel to 0
      {{0x1p-24f, 1, 1}, 1},                                       // a tie goes to the even number
      {{0x1p-24f, 3, 1}, 0x1.000004p0f},
      {{0x1.000002p-24f, 1, 1}, 0x1.000002p0f},
      {{0x1p-100f, 0x1p-100f, 1}, 1},
      {{-0x1p-100f, 0x1p-100f, 0x1p-149f}, 0x1p-149f},
      {{0x1p-75f, 0x1p-75f, 0}, 0},  // half of the smallest subnormal number
      {{0x1.000002p-75f, 0x1p-75f, 0}, 0x1p-149f},
      {{0x1p64f, 0x1p64f, -0x1p104f}, 0x1.fffffep127f},  // the product alone would overflow
      {{0x1p64f, 0x1p64f, -0x1p102f}, kInfinity},
      {{0x1p64f, 0x1p64f, -0x1p103f}, kInfinity},  // a tie between the largest number and 2^128
      {{-0.0f, 1, -0.0f}, -0.0f},
      {{-0.0f, 1, 0.0f}, 0.0f},
      {{1, 1, -1}, 0.0f}};
  for (const auto& [t, result] : all) {
    EXPECT_EQ(std::bit_cast<uint32_t>(exact_multiply_add(t)), std::bit_cast<uint32_t>(result))
        << std::hexfloat << t.a << " * " << t.b << " + " << t.c;
  }
  EXPECT_TRUE(std::isnan(exact_multiply_add({0, kInfinity, 1})));
}

}  // namespace
}  // namespace openaclnn
