// Tests system parameters, sizes of data types, and the two host-side fp16 helpers.
#include <bit>
#include <cmath>
#include <limits>
#include <thread>

#include "runtime/counter.h"
#include "runtime/runtime_test.h"

namespace {

using namespace runtime_test;
using OptionsTest = RuntimeTest;

TEST_F(OptionsTest, PerProcess) {
  for (int opt = 0; opt <= 3; ++opt) {
    const auto option = static_cast<aclSysParamOpt>(opt);
    int64_t value = 77;
    expect(0, aclrtGetSysParamOpt(option, &value));
    EXPECT_EQ(value, 0);
    for (int64_t stored : {int64_t{1}, int64_t{-5}, INT64_MAX, int64_t{0}}) {
      expect(0, aclrtSetSysParamOpt(option, stored));
      std::thread([&] { expect(0, aclrtGetSysParamOpt(option, &value)); }).join();
      EXPECT_EQ(value, stored);
    }
    expect(100000, aclrtGetSysParamOpt(option, nullptr), {"value is NULL"});
  }
  for (int opt : {-1, 4, 1000}) {
    int64_t value = 77;
    expect(100000, aclrtSetSysParamOpt(static_cast<aclSysParamOpt>(opt), 1),
           {"opt is " + std::to_string(opt)});
    expect(100000, aclrtGetSysParamOpt(static_cast<aclSysParamOpt>(opt), &value),
           {"opt is " + std::to_string(opt)});
    EXPECT_EQ(value, 77);
  }
}

TEST_F(OptionsTest, PerContext) {
  int64_t value = 77;
  for (int opt = 0; opt <= 2; ++opt) {
    const auto option = static_cast<aclSysParamOpt>(opt);
    expect(107021, aclrtCtxGetSysParamOpt(option, &value), {"opt " + std::to_string(opt), "never set"});
    EXPECT_EQ(value, 77);
    expect(0, aclrtCtxSetSysParamOpt(option, 100 + opt));
  }
  for (int opt = 0; opt <= 2; ++opt) {
    expect(0, aclrtCtxGetSysParamOpt(static_cast<aclSysParamOpt>(opt), &value));
    EXPECT_EQ(value, 100 + opt);
    expect(0, aclrtGetSysParamOpt(static_cast<aclSysParamOpt>(opt), &value));
    EXPECT_EQ(value, 0);  // a separate setting
  }
  for (int opt : {3, 4, -1}) {
    expect(100000, aclrtCtxSetSysParamOpt(static_cast<aclSysParamOpt>(opt), 1),
           {"opt is " + std::to_string(opt)});
    expect(100000, aclrtCtxGetSysParamOpt(static_cast<aclSysParamOpt>(opt), &value));
  }
  expect(100000, aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, nullptr));
  aclrtContext context = nullptr;
  expect(0, aclrtCreateContext(&context, 0));
  expect(107021, aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));  // another context
  expect(0, aclrtDestroyContext(context));
}

TEST_F(OptionsTest, HaveNoEffectOnResults) {
  Counter counter;
  for (int64_t value : {0, 1}) {
    expect(0, aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, value));
    expect(0, aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, value));
    expect(0, counter.add(stream));
  }
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter.value(), 2.0f);
  expect(0, aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 0));
}

TEST(DataTypeTest, Sizes) {
  struct Size {
    int dtype;
    size_t bytes;
  };
  constexpr Size kSizes[] = {{-1, 0}, {0, 4},  {1, 2},  {2, 1},  {3, 4},   {4, 1},  {5, 0},
                             {6, 2},  {7, 2},  {8, 4},  {9, 8},  {10, 8},  {11, 8}, {12, 1},
                             {13, 0}, {14, 0}, {15, 0}, {16, 8}, {17, 16}, {27, 2}, {29, 0},
                             {30, 0}, {33, 4}, {34, 1}, {35, 1}, {36, 1},  {37, 1}, {38, 0},
                             {39, 0}, {40, 0}, {41, 0}, {42, 0}, {999, 0}, {-2, 0}};
  for (const Size& size : kSizes)
    EXPECT_EQ(aclDataTypeSize(static_cast<aclDataType>(size.dtype)), size.bytes) << size.dtype;
}

TEST(Float16Test, NarrowsSaturating) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  struct Case {
    float value;
    uint16_t bits;
  };
  for (const Case& c : {Case{1, 0x3c00},
                        {0, 0},
                        {-0.0f, 0x8000},
                        {65504, 0x7bff},
                        {65519.9961f, 0x7bff},
                        {65520, 0x7bff},
                        {1e30f, 0x7bff},
                        {inf, 0x7bff},
                        {nan, 0x7bff},
                        {-65520, 0xfbff},
                        {-inf, 0xfbff},
                        {-nan, 0xfbff},
                        {0x1p-24f, 1},
                        {0x1p-25f, 0},
                        {-0x1p-25f, 0x8000},
                        {3 * 0x1p-26f, 1},
                        {0x1.000002p-25f, 1},
                        {3 * 0x1p-25f, 2},
                        {0x1p-14f, 0x0400},
                        {2049, 0x6800},
                        {2051, 0x6802},
                        {-2, 0xc000},
                        {std::numeric_limits<float>::denorm_min(), 0}}) {
    EXPECT_EQ(aclFloatToFloat16(c.value), c.bits) << c.value;
  }
}

TEST(Float16Test, WidensExactlyWithoutInfinities) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const int exponent = static_cast<int>(bits >> 10 & 31);
    const int mantissa = static_cast<int>(bits & 1023);
    // Exponent 31 is an ordinary one.
    const double magnitude =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    const auto expected = static_cast<float>(bits >= 32768 ? -magnitude : magnitude);
    const float got = aclFloat16ToFloat(static_cast<aclFloat16>(bits));
    ASSERT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(expected)) << bits;
    if (exponent < 31) {
      ASSERT_EQ(aclFloatToFloat16(got), bits);
    }
  }
  EXPECT_EQ(aclFloat16ToFloat(0x7c00), 65536.0f);
  EXPECT_EQ(aclFloat16ToFloat(0xfe00), -98304.0f);
  EXPECT_EQ(aclFloat16ToFloat(1), 0x1p-24f);
}

}  // namespace
