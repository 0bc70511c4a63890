// ApplyFusedEmaAdam: the coefficients, rounded once from double. The C API shows them only through results.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "ops/apply_fused_ema_adam/math.h"
#include "ops/apply_fused_ema_adam/op.h"

namespace openaclnn {
namespace {

uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }

EmaAdamCoefficients coefficients(double beta1, double beta2, int64_t t, bool bias_correction = true) {
  EmaAdamAttributes attributes = {};
  attributes.beta1 = beta1;
  attributes.beta2 = beta2;
  attributes.ema_decay = beta1;
  attributes.mode = 1;
  attributes.bias_correction = bias_correction;
  return ema_adam_coefficients(attributes, t);
}

struct Row {
  double beta;
  uint32_t value, one_minus;
  uint32_t scale[6];  // 1 / (1 - beta^t) for kSteps
};
constexpr int64_t kSteps[] = {1, 2, 3, 10, 1000, -3};
constexpr Row kRows[] = {
    {0.9, 0x3f666666, 0x3dcccccd, {0x41200000, 0x40a86bca, 0x406c2991, 0x3fc48605, 0x3f800000, 0xc02c2991}},
    {0.99, 0x3f7d70a4, 0x3c23d70a, {0x42c80000, 0x42490149, 0x4206acf4, 0x41275528, 0x3f80016a, 0xc202acf4}},
    {0.999, 0x3f7fbe77, 0x3a83126f, {0x447a0000, 0x43fa2004, 0x43a6d55d, 0x42c8e6d3, 0x3fca6f20, 0xc3a6555d}},
    {0.9999,
     0x3f7ff972,
     0x38d1b717,
     {0x461c4000, 0x459c4200, 0x45505aab, 0x447a1cce, 0x41282015, 0xc5504aab}},
};

TEST(EmaAdamCoefficients, HaveTheBitsOfTheTable) {
  for (const Row& row : kRows) {
    for (size_t k = 0; k < std::size(kSteps); ++k) {
      const EmaAdamCoefficients c = coefficients(row.beta, row.beta, kSteps[k]);
      EXPECT_EQ(bits(c.beta1), row.value);
      EXPECT_EQ(bits(c.beta2), row.value);
      EXPECT_EQ(bits(c.ema_decay), row.value);
      EXPECT_EQ(bits(c.one_minus_beta1), row.one_minus);
      EXPECT_EQ(bits(c.one_minus_beta2), row.one_minus);
      EXPECT_EQ(bits(c.one_minus_ema), row.one_minus);
      EXPECT_EQ(bits(c.m_scale), row.scale[k]) << "beta " << row.beta << ", t " << kSteps[k];
      EXPECT_EQ(bits(c.v_scale), row.scale[k]) << "beta " << row.beta << ", t " << kSteps[k];
    }
    EXPECT_EQ(bits(coefficients(row.beta, row.beta, int64_t{1} << 62).m_scale), 0x3f800000u);
    EXPECT_EQ(bits(coefficients(row.beta, row.beta, 0).m_scale), 0x7f800000u);
    EXPECT_EQ(bits(coefficients(row.beta, row.beta, 1, false).m_scale), 0x3f800000u);
    EXPECT_EQ(bits(coefficients(row.beta, row.beta, 0, false).v_scale), 0x3f800000u);
  }
}

TEST(EmaAdamCoefficients, EveryStepHasAResult) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(coefficients(0.9, 0.999, kMax).m_scale, 1.0f);
  EXPECT_EQ(bits(coefficients(0.9, 0.999, kMin).m_scale), 0x80000000u);  // 1 / (1 - Inf)
  EXPECT_EQ(coefficients(0.0, 0.0, 1).m_scale, 1.0f);
  EXPECT_EQ(coefficients(1.0, 1.0, 5).m_scale, std::numeric_limits<float>::infinity());
  EXPECT_EQ(coefficients(-1.0, -1.0, 5).m_scale, 0.5f);
  EXPECT_TRUE(std::isnan(coefficients(std::nan(""), 0.5, 5).m_scale));
  EXPECT_EQ(coefficients(std::nan(""), 0.5, 0).v_scale, std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace openaclnn
