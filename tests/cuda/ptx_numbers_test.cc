// Tests the PTX machine's floating-point instructions, against results worked out by hand from NVIDIA's
// reference of the instruction set.
#include <gtest/gtest.h>

#include <string>

#include "ptx_rows.h"

namespace openaclnn::ptx {
namespace {

TEST(Computes, Numbers) {
  const Row rows[] = {
      {"add.rn.f32", "f=ff", {f(1), f(0x1p-24f)}, f(1)},              // ties go to even
      {"add.rn.f32", "f=ff", {0x3F800001, f(0x1p-24f)}, 0x3F800002},  //
      {"add.rn.f32", "f=ff", {1, 1}, 2},                              // subnormal numbers stay
      {"add.rn.f32", "f=ff", {0x7F7FFFFF, 0x7F7FFFFF}, kInfinity},
      {"sub.rn.f32", "f=ff", {f(1), f(1)}, 0},
      {"mul.rn.f32", "f=ff", {0x00800000, f(0.5f)}, 0x00400000},
      {"mul.rn.f32", "f=ff", {0x3F800800, 0x3F800800}, 0x3F801000},
      {"fma.rn.f32",
       "f=fff",
       {0x3F800800, 0x3F800800, 0xBF801000},
       f(0x1p-24f)},  // the product above has lost it
      {"div.rn.f32", "f=ff", {f(1), f(3)}, 0x3EAAAAAB},
      {"div.rn.f32", "f=ff", {f(1), f(-0.0f)}, kMinusInfinity},
      {"rcp.rn.f32", "f=f", {f(3)}, 0x3EAAAAAB},
      {"rcp.rn.f32", "f=f", {f(-0.0f)}, kMinusInfinity},
      {"rcp.rn.f32", "f=f", {1}, kInfinity},
      {"rcp.rn.f32", "f=f", {0x7F000000}, 0x00400000},
      {"sqrt.rn.f32", "f=f", {f(2)}, 0x3FB504F3},
      {"sqrt.rn.f32", "f=f", {f(-0.0f)}, f(-0.0f)},
      {"abs.f32", "f=f", {f(-0.0f)}, 0},
      {"neg.f32", "f=f", {0}, f(-0.0f)},
      {"add.rn.f64", "d=dd", {d(1), d(0x1p-53)}, d(1)},
      {"sub.rn.f64", "d=dd", {d(1), d(0x1p-53)}, 0x3FEFFFFFFFFFFFFF},
      {"mul.rn.f64", "d=dd", {d(0x1p-1074), d(0.5)}, 0},
      {"fma.rn.f64", "d=ddd", {0x3FF0000002000000, 0x3FF0000002000000, 0xBFF0000004000000}, d(0x1p-54)},
      {"div.rn.f64", "d=dd", {d(1), d(3)}, 0x3FD5555555555555},
      {"rcp.rn.f64", "d=d", {d(3)}, 0x3FD5555555555555},
      {"sqrt.rn.f64", "d=d", {d(2)}, 0x3FF6A09E667F3BCD},
      {"abs.f64", "d=d", {d(-2)}, d(2)},
      {"neg.f64", "d=d", {d(2)}, d(-2)},
  };
  for (const Row& row : rows) expect_result(row);
}

TEST(Computes, OneNaNOfSinglePrecision) {
  const Row rows[] = {
      {"add.rn.f32", "f=ff", {kQuiet, f(1)}, kNaN},
      {"add.rn.f32", "f=ff", {f(1), kSignalling}, kNaN},
      {"add.rn.f32", "f=ff", {kInfinity, kMinusInfinity}, kNaN},
      {"sub.rn.f32", "f=ff", {kInfinity, kInfinity}, kNaN},
      {"mul.rn.f32", "f=ff", {0, kInfinity}, kNaN},
      {"div.rn.f32", "f=ff", {0, 0}, kNaN},
      {"fma.rn.f32", "f=fff", {kInfinity, 0, f(1)}, kNaN},
      {"fma.rn.f32", "f=fff", {f(1), f(1), kQuiet}, kNaN},
      {"rcp.rn.f32", "f=f", {kSignalling}, kNaN},
      {"sqrt.rn.f32", "f=f", {f(-1)}, kNaN},
      {"cvt.rn.f32.f64", "f=d", {kOfDouble}, kNaN},
      {"cvt.f32.f16", "f=h", {0xFE00}, kNaN},
      {"cvt.f32.f16", "f=h", {0x7C01}, kNaN},
      {"cvt.rn.f16.f32", "h=f", {kSignalling}, 0x7FFF},
      {"cvt.rn.bf16.f32", "h=f", {kSignalling}, 0x7FFF},
  };
  for (const Row& row : rows) expect_result(row);
}

TEST(Computes, LeastAndGreatestNumbers) {
  const Row rows[] = {
      {"min.f32", "f=ff", {f(-1), f(1)}, f(-1)},
      {"max.f32", "f=ff", {f(-1), f(1)}, f(1)},
      {"min.f32", "f=ff", {kQuiet, f(1)}, f(1)},  // the one that is a number
      {"min.f32", "f=ff", {f(1), kSignalling}, f(1)},
      {"max.f32", "f=ff", {kQuiet, kMinusInfinity}, kMinusInfinity},
      {"max.f32", "f=ff", {f(1), kQuiet}, f(1)},
      {"min.f32", "f=ff", {kQuiet, kSignalling}, kNaN},
      {"max.f32", "f=ff", {kQuiet, kQuiet}, kNaN},
      {"min.f32", "f=ff", {f(0.0f), f(-0.0f)}, f(-0.0f)},  // -0 is less
      {"min.f32", "f=ff", {f(-0.0f), f(0.0f)}, f(-0.0f)},
      {"max.f32", "f=ff", {f(0.0f), f(-0.0f)}, f(0.0f)},
      {"max.f32", "f=ff", {f(-0.0f), f(0.0f)}, f(0.0f)},
      {"min.f32", "f=ff", {1, 2}, 1},
      {"min.f64", "d=dd", {kOfDouble, d(1)}, d(1)},
      {"max.f64", "d=dd", {d(1), kOfDouble}, d(1)},
      {"max.f64", "d=dd", {d(-0.0), d(0.0)}, d(0.0)},
      {"min.f64", "d=dd", {d(0.0), d(-0.0)}, d(-0.0)},
  };
  for (const Row& row : rows) expect_result(row);
}

TEST(Converts, IntegersToIntegers) {
  const Row rows[] = {
      {"cvt.u32.u16", "r=h", {0xFFFF}, 0xFFFF},
      {"cvt.s32.s16", "r=h", {0x8000}, 0xFFFF8000},
      {"cvt.u32.u8", "r=r", {0x180}, 0x80},
      {"cvt.s32.s8", "r=r", {0x180}, 0xFFFFFF80},
      {"cvt.s16.s8", "h=h", {0x80}, 0xFF80},
      {"cvt.u8.u32", "h=r", {0x1FF}, 0xFF},
      {"cvt.s8.s32", "h=r", {0x1FF}, 0xFFFF},
      {"cvt.u16.u32", "h=r", {0x12345678}, 0x5678},
      {"cvt.u64.u32", "l=r", {0x80000000}, 0x80000000},
      {"cvt.s64.s32", "l=r", {0x80000000}, 0xFFFFFFFF80000000},
      {"cvt.u32.u64", "r=l", {0x123456789ABCDEF0}, 0x9ABCDEF0},
  };
  for (const Row& row : rows) expect_result(row);
}

TEST(Converts, IntegersToNumbers) {
  const Row rows[] = {
      {"cvt.rn.f32.s8", "f=r", {0x80}, f(-128)},
      {"cvt.rn.f32.u16", "f=h", {0xFFFF}, f(65535)},
      {"cvt.rn.f32.s32", "f=r", {0xFFFFFFFF}, f(-1)},
      {"cvt.rn.f32.s32", "f=r", {0x1000001}, 0x4B800000},  // ties go to even
      {"cvt.rn.f32.s32", "f=r", {0x1000003}, 0x4B800002},
      {"cvt.rn.f32.u32", "f=r", {0xFFFFFFFF}, f(0x1p32f)},
      {"cvt.rn.f32.s64", "f=l", {kLow}, f(-0x1p63f)},
      {"cvt.rn.f32.u64", "f=l", {kAll}, f(0x1p64f)},
      {"cvt.rn.f64.u32", "d=r", {0xFFFFFFFF}, 0x41EFFFFFFFE00000},
      {"cvt.rn.f64.s64", "d=l", {(uint64_t{1} << 53) + 1}, d(0x1p53)},
      {"cvt.rn.f64.s64", "d=l", {(uint64_t{1} << 53) + 3}, 0x4340000000000002},
      {"cvt.rn.f64.u64", "d=l", {kAll}, d(0x1p64)},
  };
  for (const Row& row : rows) expect_result(row);
}

// Rounds towards zero, at most to the type's limit.
TEST(Converts, NumbersToIntegers) {
  const Row rows[] = {
      {"cvt.rzi.s32.f32", "r=f", {f(1.9f)}, 1},
      {"cvt.rzi.s32.f32", "r=f", {f(-1.9f)}, 0xFFFFFFFF},
      {"cvt.rzi.s32.f32", "r=f", {f(0x1p31f)}, 0x7FFFFFFF},
      {"cvt.rzi.s32.f32", "r=f", {kMinusInfinity}, 0x80000000},
      {"cvt.rzi.u32.f32", "r=f", {f(-0.5f)}, 0},
      {"cvt.rzi.u32.f32", "r=f", {f(-1)}, 0},
      {"cvt.rzi.u32.f32", "r=f", {0x4F7FFFFF}, 0xFFFFFF00},
      {"cvt.rzi.u32.f32", "r=f", {f(0x1p32f)}, 0xFFFFFFFF},
      {"cvt.rzi.s64.f32", "l=f", {f(-0x1p63f)}, kLow},
      {"cvt.rzi.s64.f32", "l=f", {f(1e30f)}, kLow - 1},
      {"cvt.rzi.u64.f32", "l=f", {kInfinity}, kAll},
      {"cvt.rzi.u8.f32", "h=f", {f(300)}, 255},
      {"cvt.rzi.s8.f32", "h=f", {f(-200)}, 0xFF80},
      {"cvt.rzi.s16.f32", "h=f", {f(40000)}, 0x7FFF},
      {"cvt.rzi.s32.f64", "r=d", {d(-2147483648.5)}, 0x80000000},
      {"cvt.rzi.s32.f64", "r=d", {d(2147483647.5)}, 0x7FFFFFFF},
      {"cvt.rzi.u32.f64", "r=d", {d(4294967295.5)}, 0xFFFFFFFF},
      {"cvt.rzi.s64.f64", "l=d", {d(-1.5)}, kAll},
      {"cvt.rzi.s64.f64", "l=d", {d(0x1p63)}, kLow - 1},
      {"cvt.rzi.u64.f64", "l=d", {d(0x1p63)}, kLow},
      {"cvt.rzi.u64.f64", "l=d", {d(0x1p64)}, kAll},
      // NaN gives 0 from and to 32 bits, otherwise the highest bit.
      {"cvt.rzi.s32.f32", "r=f", {kQuiet}, 0},
      {"cvt.rzi.u32.f32", "r=f", {kSignalling}, 0},
      {"cvt.rzi.s64.f32", "l=f", {kQuiet}, kLow},
      {"cvt.rzi.u64.f32", "l=f", {kQuiet}, kLow},
      {"cvt.rzi.s32.f64", "r=d", {kOfDouble}, 0x80000000},
      {"cvt.rzi.u32.f64", "r=d", {kOfDouble}, 0x80000000},
      {"cvt.rzi.s64.f64", "l=d", {kOfDouble}, kLow},
      {"cvt.rzi.u64.f64", "l=d", {kOfDouble}, kLow},
  };
  for (const Row& row : rows) expect_result(row);
}

TEST(Converts, BetweenSingleAndDoublePrecision) {
  const Row rows[] = {
      {"cvt.f64.f32", "d=f", {f(-1.5f)}, d(-1.5)},
      {"cvt.f64.f32", "d=f", {1}, d(0x1p-149)},
      {"cvt.rn.f32.f64", "f=d", {0x3FF0000010000000}, f(1)},  // a tie
      {"cvt.rn.f32.f64", "f=d", {0x3FF0000010000001}, 0x3F800001},
      {"cvt.rn.f32.f64", "f=d", {d(-1e300)}, kMinusInfinity},
      {"cvt.rn.f32.f64", "f=d", {d(0x1p-150)}, 0},
      {"cvt.rn.f32.f64", "f=d", {d(0x1.8p-149)}, 2},
  };
  for (const Row& row : rows) expect_result(row);
}

TEST(Converts, HalfPrecision) {
  const Row rows[] = {
      {"cvt.f32.f16", "f=h", {0x8000}, f(-0.0f)},
      {"cvt.f32.f16", "f=h", {0x0001}, f(0x1p-24f)},
      {"cvt.f32.f16", "f=h", {0x83FF}, f(-1023 * 0x1p-24f)},
      {"cvt.f32.f16", "f=h", {0x0400}, f(0x1p-14f)},
      {"cvt.f32.f16", "f=h", {0x3555}, 0x3EAAA000},
      {"cvt.f32.f16", "f=h", {0x7BFF}, f(65504)},
      {"cvt.f32.f16", "f=h", {0xFC00}, kMinusInfinity},
      {"cvt.rn.f16.f32", "h=f", {f(-1)}, 0xBC00},
      {"cvt.rn.f16.f32", "h=f", {f(65504)}, 0x7BFF},
      {"cvt.rn.f16.f32", "h=f", {0x477FEFFF}, 0x7BFF},  // the last one below 65,520
      {"cvt.rn.f16.f32", "h=f", {f(-65520)}, 0xFC00},
      {"cvt.rn.f16.f32", "h=f", {kInfinity}, 0x7C00},
      {"cvt.rn.f16.f32", "h=f", {0x3F801000}, 0x3C00},  // ties go to even
      {"cvt.rn.f16.f32", "h=f", {0x3F801001}, 0x3C01},
      {"cvt.rn.f16.f32", "h=f", {0x3F803000}, 0x3C02},
      {"cvt.rn.f16.f32", "h=f", {f(0x1p-24f)}, 1},  // subnormal results
      {"cvt.rn.f16.f32", "h=f", {f(-0x1p-25f)}, 0x8000},
      {"cvt.rn.f16.f32", "h=f", {0x33000001}, 1},
      {"cvt.rn.f16.f32", "h=f", {f(3 * 0x1p-25f)}, 2},
      {"cvt.rn.f16.f32", "h=f", {f(1023.5f * 0x1p-24f)}, 0x0400},
      {"cvt.rn.f16.f32", "h=f", {1}, 0},
      {"cvt.f32.bf16", "f=h", {0xBF80}, f(-1)},
      {"cvt.f32.bf16", "f=h", {0x0001}, 0x00010000},
      {"cvt.rn.bf16.f32", "h=f", {0x3F808000}, 0x3F80},  // ties go to even
      {"cvt.rn.bf16.f32", "h=f", {0x3F808001}, 0x3F81},
      {"cvt.rn.bf16.f32", "h=f", {0xBF818000}, 0xBF82},
      {"cvt.rn.bf16.f32", "h=f", {0x7F7FFFFF}, 0x7F80},
      {"cvt.rn.bf16.f32", "h=f", {0x00008000}, 0},
      {"cvt.rn.bf16.f32", "h=f", {0x00018000}, 2},
      {"cvt.rn.bf16.f32", "h=f", {kMinusInfinity}, 0xFF80},
  };
  for (const Row& row : rows) expect_result(row);
}

// Results for a pair in which the first is less, equal or greater, or one of them is NaN.
TEST(Computes, ComparisonsOfNumbers) {
  struct Comparison {
    const char* name;
    bool less, equal, greater, unordered;
  };
  constexpr Comparison kComparisons[] = {
      {"eq", false, true, false, false}, {"ne", true, false, true, false},
      {"lt", true, false, false, false}, {"le", true, true, false, false},
      {"gt", false, false, true, false}, {"ge", false, true, true, false},
      {"equ", false, true, false, true}, {"neu", true, false, true, true},
      {"ltu", true, false, false, true}, {"leu", true, true, false, true},
      {"gtu", false, false, true, true}, {"geu", false, true, true, true},
      {"num", true, true, true, false},  {"nan", false, false, false, true},
  };
  for (const Comparison& comparison : kComparisons) {
    const auto expect = [&](const char* type, const char* types, uint64_t a, uint64_t b, bool is_true) {
      const std::string instruction = "setp." + std::string(comparison.name) + "." + type;
      expect_result({instruction.c_str(), types, {a, b}, is_true ? 1u : 0u});
    };
    expect("f32", "p=ff", f(-1), f(1), comparison.less);
    expect("f32", "p=ff", f(0.0f), f(-0.0f), comparison.equal);
    expect("f32", "p=ff", kInfinity, kInfinity, comparison.equal);
    expect("f32", "p=ff", 1, 0, comparison.greater);  // the least subnormal number
    expect("f32", "p=ff", kQuiet, f(1), comparison.unordered);
    expect("f32", "p=ff", f(1), kSignalling, comparison.unordered);
    expect("f64", "p=dd", d(-1), d(1), comparison.less);
    expect("f64", "p=dd", d(0.0), d(-0.0), comparison.equal);
    expect("f64", "p=dd", d(2), d(1), comparison.greater);
    expect("f64", "p=dd", kOfDouble, kOfDouble, comparison.unordered);
  }
}

}  // namespace
}  // namespace openaclnn::ptx
