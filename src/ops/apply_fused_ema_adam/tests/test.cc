// ApplyFusedEmaAdam: values. Test vectors, error bounds, and the prescribed bits for any data, attribute and step.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "ops/apply_fused_ema_adam/tests/call_cases.h"

namespace openaclnn_test {
namespace {

constexpr int64_t kHugeStep = int64_t{1} << 62;

// The data of grad, var, m, v and s.
using Inputs = std::array<std::vector<double>, kStep>;

struct Vector {
  const char* name;
  aclDataType dtype;
  EmaAttributes attributes;
  int64_t t;
  Inputs inputs;
  std::array<std::vector<uint64_t>, kStep> results;  // grad and empty lists are not compared
};

const Inputs kInputs = {
    {{.5, -1.25, 2, -.03125}, {1, -2, .5, 3}, {.25, .5, -1, 0}, {.5, .0625, 4, 0}, {1, -1.5, .25, 3.5}}};
const std::vector<uint64_t> kNewM = {0x3e8ccccd, 0x3ea66666, 0xbf333333, 0xbb4ccccd};
const std::vector<uint64_t> kNewV = {0x3efeb852, 0x3d9eb852, 0x40800000, 0x3723d70a};

EmaAttributes decoupled_attributes() {
  return {
      .lr = .01, .ema_decay = .75, .beta1 = .9, .beta2 = .99, .eps = 1e-8, .mode = 1, .weight_decay = .25};
}
EmaAttributes default_attributes(int64_t mode, double weight_decay) {
  return {.lr = .01,
          .ema_decay = .9999,
          .beta1 = .9,
          .beta2 = .999,
          .eps = 1e-8,
          .mode = mode,
          .weight_decay = weight_decay};
}
EmaAttributes large_step_attributes(int64_t mode, double weight_decay) {
  EmaAttributes a = decoupled_attributes();
  a.lr = .125;
  a.ema_decay = .5;
  a.mode = mode;
  a.weight_decay = weight_decay;
  return a;
}

std::vector<Vector> vectors() {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<uint64_t> nan = {0x7fc00000}, two_nans = {0x7fc00000, 0x7fc00000};
  const std::vector<uint64_t> new_var = {0x3f7e5ca5, 0xc0006d5a, 0x3f009375, 0x404028f6};
  const std::vector<uint64_t> new_s = {0x3f7f9729, 0xbfd036ad, 0x3ea049ba, 0x40580a3e};
  EmaAttributes uncorrected = decoupled_attributes();
  uncorrected.bias_correction = false;
  return {
      {"decoupled decay, corrections of 1",
       ACL_FLOAT,
       decoupled_attributes(),
       kHugeStep,
       kInputs,
       {{{}, new_var, kNewM, kNewV, new_s}}},
      {"no bias correction", ACL_FLOAT, uncorrected, 10, kInputs, {{{}, new_var, kNewM, kNewV, new_s}}},
      {"decoupled decay, step 10",
       ACL_FLOAT,
       decoupled_attributes(),
       10,
       kInputs,
       {{{},
         {0x3f7ee2da, 0xc00008e3, 0x3f001afb, 0x403fd2e8},
         kNewM,
         kNewV,
         {0x3f7fb8b6, 0xbfd00472, 0x3ea00d7e, 0x4057f4ba}}}},
      {"first step, decay in the gradient",
       ACL_FLOAT,
       default_attributes(0, .1),
       1,
       {{{1, -2}, {1, 2}, {0, 0}, {0, 0}, {1, 2}}},
       {{{},
         {0x3f7d70a4, 0x4000a3d7},
         {0x3de147af, 0xbe3851eb},
         {0x3a9e98de, 0x3b54562e},
         {0x3f7fffef, 0x40000004}}}},
      {"step 0",
       ACL_FLOAT,
       default_attributes(1, 0),
       0,
       {{{1, 0}, {1, 2}, {0, 0}, {0, 0}, {1, 2}}},
       {{{}, two_nans, {0x3dcccccd, 0}, {0x3a83126f, 0}, two_nans}}},
      {"FLOAT16, decoupled decay",
       ACL_FLOAT16,
       large_step_attributes(1, .25),
       10,
       kInputs,
       {{{},
         {0x3b91, 0xc003, 0x380b, 0x41ee},
         {0x3466, 0x3533, 0xb99a, 0x9a66},
         {0x37f6, 0x2cf6, 0x4400, 0x00a4},
         {0x3bc8, 0xbf03, 0x360b, 0x4277}}}},
      {"BF16, decay in the gradient",
       ACL_BF16,
       large_step_attributes(0, .25),
       10,
       kInputs,
       {{{},
         {0x3f7a, 0xc003, 0x3f05, 0x403c},
         {0x3e9a, 0x3e8d, 0xbf30, 0x3d93},
         {0x3f00, 0x3dbd, 0x4080, 0x3ba9},
         {0x3f7d, 0xbfe3, 0x3ec5, 0x404e}}}},
      {"v overflows FLOAT16",
       ACL_FLOAT16,
       large_step_attributes(1, 0),
       1,
       {{{60000}, {1}, {60000}, {60000}, {1}}},
       {{{}, {0xb3f8}, {0x7b53}, {0x7c00}, {0x3602}}}},
      {"0 * Inf in the decay",
       ACL_FLOAT,
       large_step_attributes(0, 0),
       1,
       {{{1}, {inf}, {0}, {0}, {1}}},
       {{{}, nan, nan, nan, nan}}},
      {"step -3",
       ACL_FLOAT,
       large_step_attributes(1, 0),
       -3,
       {{{1}, {1}, {.5}, {.25}, {1}}},
       {{{}, nan, {0x3f0ccccd}, {0x3e83d70a}, nan}}},
  };
}

EmaCall call_of(const Vector& vector) {
  EmaCall call(vector.dtype, {static_cast<int64_t>(vector.inputs[0].size())}, vector.t);
  for (int k = 0; k < kStep; ++k) call[k].fill(vector.inputs[static_cast<size_t>(k)]);
  return call;
}

TEST(EmaAdamVectors, HaveTheirBits) {
  for (const Vector& vector : vectors()) {
    SCOPED_TRACE(vector.name);
    EmaCall call = call_of(vector);
    ASSERT_TRUE(succeeded(call.run(vector.attributes)));
    for (int k = kVar; k < kStep; ++k) {
      EXPECT_EQ(call[k].all_bits(), vector.results[static_cast<size_t>(k)]) << kEmaNames[k];
    }
  }
}

// The reference of the tests below must give the same numbers.
TEST(EmaAdamVectors, AgreeWithTheBitsReference) {
  for (const Vector& vector : vectors()) {
    SCOPED_TRACE(vector.name);
    EmaCall call = call_of(vector);
    const EmaCall::Bits bits = call.expected(vector.attributes);
    for (size_t k = kVar; k < kStep; ++k) EXPECT_EQ(bits[k], vector.results[k]) << kEmaNames[k];
  }
}

EmaAttributes random_attributes(Random& random, int64_t mode, bool bias_correction) {
  EmaAttributes a;
  a.lr = random.magnitude(-12, 0);
  a.ema_decay = random.chance(5) ? 0.0 : 1 - random.magnitude(-14, -1);
  a.beta1 = random.chance(5) ? 0.0 : 1 - random.magnitude(-20, -1);
  a.beta2 = random.chance(5) ? 0.0 : 1 - random.magnitude(-20, -1);
  a.eps = random.magnitude(-30, -3);
  a.mode = mode;
  a.bias_correction = bias_correction;
  a.weight_decay = random.chance(3) ? 0.0 : random.magnitude(-10, 0);
  return a;
}

void check_bounds(aclDataType dtype, int64_t mode, bool bias_correction) {
  constexpr int kCalls = 40;
  constexpr int64_t kCount = 1000;
  Random random(test_seed() + static_cast<uint64_t>(dtype) * 4 + static_cast<uint64_t>(mode) * 2 +
                bias_correction);
  int64_t covered = 0;
  for (int n = 0; n < kCalls; ++n) {
    const EmaAttributes attributes = random_attributes(random, mode, bias_correction);
    const int64_t t = n % 4 == 0 ? n / 4 + 1 : random.between(1, int64_t{1} << random.between(1, 40));
    EmaCall call(dtype, {kCount}, t);
    call.fill_ordinary(random);
    std::vector<EmaElement> before(kCount);
    for (int64_t i = 0; i < kCount; ++i) {
      for (int k = 0; k < kStep; ++k) before[static_cast<size_t>(i)][static_cast<size_t>(k)] = call[k].get(i);
    }
    ASSERT_TRUE(succeeded(call.run(attributes)));
    const EmaExactReference reference(attributes, t);
    const double largest = std::ldexp(2 - std::ldexp(1.0, 1 - float_format(dtype)->precision),
                                      float_format(dtype)->max_exponent);
    for (int64_t i = 0; i < kCount; ++i) {
      const EmaExact exact = reference(before[static_cast<size_t>(i)]);
      if (!exact.is_covered) continue;
      ++covered;
      const EmaBounds c = ema_adam_bounds(mode, static_cast<double>(exact.kappa));
      const std::array<double, kStep> constants = {0, c.var, c.m, c.v, c.s};
      for (size_t k = kVar; k < kStep; ++k) {
        if (std::fabs(exact.value[k]) > largest) continue;
        const long double result = call[static_cast<int>(k)].get(i);
        const long double allowed = allowed_error(dtype, result, constants[k], exact.magnitude[k]);
        ASSERT_LE(std::fabs(result - exact.value[k]), allowed)
            << kEmaNames[k] << "[" << i << "] = " << result << ", exact " << exact.value[k] << ", t " << t
            << ", beta1 " << attributes.beta1 << ", beta2 " << attributes.beta2 << ", eps " << attributes.eps;
      }
    }
  }
  EXPECT_GT(covered, kCalls * kCount * 9 / 10)
      << "most elements must be covered by the bounds, else the test is idle";
}

TEST(EmaAdamBounds, HoldForEveryDtypeModeAndCorrection) {
  SCOPED_TRACE(seed_text());
  for (const aclDataType dtype : kFloatDtypes) {
    for (const int64_t mode : {0, 1}) {
      for (const bool bias_correction : {false, true}) {
        SCOPED_TRACE(testing::Message()
                     << "dtype " << dtype << ", mode " << mode << ", correction " << bias_correction);
        check_bounds(dtype, mode, bias_correction);
      }
    }
  }
}

TEST(EmaAdamBits, AreThePrescribedOnesForAnyData) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (const aclDataType dtype : kFloatDtypes) {
    for (int n = 0; n < 60; ++n) {
      const EmaAttributes attributes = random_attributes(random, n % 2, n % 3 != 0);
      EmaCall call(dtype, {random.between(1, 3000)}, random.between(1, 100));
      n % 4 == 0 ? call.fill_ordinary(random) : call.fill_anything(random);
      ASSERT_TRUE(call.run_and_compare(attributes)) << "dtype " << dtype << ", call " << n;
    }
  }
}

TEST(EmaAdamBits, AreThePrescribedOnesForEverySixteenBitPattern) {
  Random random(test_seed());
  for (const aclDataType dtype : kHalfDtypes) {
    for (int which = kGrad; which < kStep; ++which) {
      EmaCall call(dtype, {65536}, 3);
      call.fill_ordinary(random);
      for (int64_t i = 0; i < 65536; ++i) call[which].set_bits(i, static_cast<uint64_t>(i));
      ASSERT_TRUE(call.run_and_compare({.mode = 0, .weight_decay = 0.5}))
          << "dtype " << dtype << ", " << kEmaNames[which];
    }
  }
}

TEST(EmaAdamBits, AreThePrescribedOnesForEveryStep) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();
  Random random(test_seed());
  std::vector<int64_t> steps = {kMin, kMin + 1, -kHugeStep, -1000, -3,      -2,        -1,       0,
                                1,    2,        3,          1000,  1 << 20, kHugeStep, kMax - 1, kMax};
  for (int n = 0; n < 50; ++n) steps.push_back(static_cast<int64_t>(random.bits() >> random.below(64)));
  for (const int64_t t : steps) {
    for (const bool bias_correction : {true, false}) {
      EmaCall call(ACL_FLOAT, {37}, t);
      call.fill_ordinary(random);
      ASSERT_TRUE(call.run_and_compare({.bias_correction = bias_correction, .weight_decay = 0.01}))
          << "step " << t;
    }
  }
}

TEST(EmaAdamBits, FollowIeeeForEveryAttributeValue) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  const double inf = std::numeric_limits<double>::infinity();
  const double values[] = {0,       -0.0,  1,     -1,     2,   0.1,  1e-300,
                           -1e-300, 1e-45, 1e300, -1e300, inf, -inf, std::nan("")};
  double EmaAttributes::*const members[] = {&EmaAttributes::lr,    &EmaAttributes::ema_decay,
                                            &EmaAttributes::beta1, &EmaAttributes::beta2,
                                            &EmaAttributes::eps,   &EmaAttributes::weight_decay};
  for (double EmaAttributes::*const member : members) {
    for (const double value : values) {
      for (const int64_t mode : {0, 1}) {
        EmaAttributes attributes = {.mode = mode, .weight_decay = 0.1};
        attributes.*member = value;
        EmaCall call(ACL_FLOAT, {70}, 5);
        call.fill_anything(random);
        ASSERT_TRUE(call.run_and_compare(attributes)) << "an attribute is " << value;
      }
    }
  }
}

// Rounding such a NaN to BF16 like a number would give -0.
TEST(EmaAdamBits, AreOfTheCanonicalNanForAttributesThatAreAnyNan) {
  const auto nan = std::bit_cast<double>(0x7FFFFFFFFFFFFFFFu);
  double EmaAttributes::*const members[] = {&EmaAttributes::lr,    &EmaAttributes::ema_decay,
                                            &EmaAttributes::beta1, &EmaAttributes::beta2,
                                            &EmaAttributes::eps,   &EmaAttributes::weight_decay};
  Random random(test_seed());
  for (const aclDataType dtype : kFloatDtypes) {
    for (double EmaAttributes::*const member : members) {
      EmaAttributes attributes = {.mode = 0, .weight_decay = 0.1};
      attributes.*member = nan;
      EmaCall call(dtype, {700}, 5);
      call.fill_ordinary(random);
      ASSERT_TRUE(call.run_and_compare(attributes)) << "dtype " << dtype;
    }
  }
}

}  // namespace
}  // namespace openaclnn_test
