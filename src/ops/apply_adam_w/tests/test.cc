// ApplyAdamW: values. Test vectors, and the prescribed bits for any version, types, data, numbers, step, layout and size.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/apply_adam_w/tests/call_cases.h"

namespace openaclnn_test {
namespace {

struct Vector {
  const char* name;
  AdamWSetup setup;
  std::array<std::vector<uint64_t>, kAdamGrad> results;  // var, m, v, and the maximum if it is written
};

AdamWSetup numbers_of_vectors(AdamWSetup s, double lr, int64_t step) {
  s.lr = lr;
  s.weight_decay = .25;
  s.eps = 1e-8;
  s.step = step;
  return s;
}

// Computed by a program in another language from the order of operations in the header.
std::vector<Vector> vectors() {
  const std::vector<uint64_t> m = {0x3e8ccccd, 0x3ea66665, 0xbf333332, 0xbb4cccd0};
  const std::vector<uint64_t> v = {0x3efeb852, 0x3d9eb850, 0x40800000, 0x3723d700};
  const std::vector<uint64_t> var = {0x3f7ee2da, 0xc00008e3, 0x3f001afb, 0x403fd2e8};
  AdamWSetup upwards = numbers_of_vectors(adam_w_setup(2, ACL_FLOAT, true), .01, 0);
  upwards.maximize = true;
  return {
      {"second version", numbers_of_vectors(adam_w_setup(2, ACL_FLOAT), .01, 9), {{var, m, v, {}}}},
      {"amsgrad, maximize",
       upwards,
       {{{0x3f7ee979, 0xc001007c, 0x3f011687, 0x403f8466},
         {0x3e333332, 0x3f133334, 0xbf8ccccd, 0x3b4cccd0},
         v,
         {0x3f800000, 0x3d9eb850, 0x40800000, 0x3f000000}}}},
      {"first version", numbers_of_vectors(adam_w_setup(1, ACL_FLOAT), .01, 9), {{var, m, v, {}}}},
      {"FLOAT16",
       numbers_of_vectors(adam_w_setup(2, ACL_FLOAT16), .125, 9),
       {{{0x3b91, 0xc003, 0x380b, 0x41ee},
         {0x3466, 0x3533, 0xb99a, 0x9a66},
         {0x37f6, 0x2cf6, 0x4400, 0x00a4},
         {}}}},
      {"first version, BF16, amsgrad",
       numbers_of_vectors(adam_w_setup(1, ACL_BF16, true), .125, 9),
       {{{0x3f74, 0xc000, 0x3f01, 0x403a},
         {0x3e8d, 0x3ea5, 0xbf32, 0xbb50},
         {0x3f80, 0x3da4, 0x4080, 0x3f00},
         {}}}},
      {"FLOAT with gradient and maximum in BF16",
       numbers_of_vectors(adam_w_mixed_setup(ACL_BF16, true, ACL_BF16), .01, 9),
       {{{0x3f7f0699, 0xc00008e3, 0x3f001afb, 0x403f8577}, m, v, {0x3f80, 0x3d9f, 0x4080, 0x3f00}}}},
  };
}

TEST(AdamWVectors, HaveTheirBits) {
  for (const Vector& vector : vectors()) {
    SCOPED_TRACE(vector.name);
    AdamWCall call(vector.setup, {4});
    call[kAdamVar].fill({1, -2, .5, 3});
    call[kAdamM].fill({.25, .5, -1, 0});
    call[kAdamV].fill({.5, .0625, 4, 0});
    call[kAdamGrad].fill({.5, -1.25, 2, -.03125});
    if (vector.setup.amsgrad) call[kAdamMaximum].fill({1, .03125, 4, .5});
    const AdamWCall::Bits wanted = call.expected();
    ASSERT_TRUE(succeeded(call.run()));
    for (size_t part = 0; part < kAdamGrad; ++part) {
      if (!adam_w_writes(vector.setup, part)) continue;
      EXPECT_EQ(call[part].all_bits(), vector.results[part]) << kAdamNames[part];
      EXPECT_EQ(wanted[part], vector.results[part]) << "the reference, " << kAdamNames[part];
    }
  }
}

TEST(AdamWBits, AreThePrescribedOnesForAnyData) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (const AdamWSetup& setup : adam_w_all_setups()) {
    for (int n = 0; n < 20; ++n) {
      RandomDraw draw(random);
      AdamWSetup s = adam_w_random_setup(draw);
      for (const auto member : {&AdamWSetup::dtype, &AdamWSetup::grad_dtype, &AdamWSetup::maximum_dtype})
        s.*member = setup.*member;
      s.version = setup.version;
      s.amsgrad = setup.amsgrad;
      AdamWCall call(s, {random.between(1, 1000)});
      n % 4 == 0 ? call.fill_ordinary(random) : call.fill_anything(random);
      ASSERT_TRUE(call.run_and_compare()) << adam_w_text(s) << ", call " << n;
    }
  }
}

TEST(AdamWBits, AreThePrescribedOnesForEverySixteenBitPattern) {
  Random random(test_seed());
  for (const AdamWSetup& s : adam_w_all_setups()) {
    for (size_t part = 0; part < kAdamParts; ++part) {
      if (!adam_w_has(s, part) || adam_w_dtype(s, part) == ACL_FLOAT) continue;
      AdamWCall call(s, {65536});
      call.fill_ordinary(random);
      for (int64_t i = 0; i < 65536; ++i) call[part].set_bits(i, static_cast<uint64_t>(i));
      ASSERT_TRUE(call.run_and_compare()) << adam_w_text(s) << ", part " << part;
    }
  }
}

TEST(AdamWSizes, AroundVectorsBlocksAndChunks) {
  Random random(test_seed());
  std::vector<int64_t> sizes;
  for (int64_t size = 0; size <= 66; ++size) sizes.push_back(size);
  for (const int64_t border : {127, 256, 1024, 4096, 16384}) {
    for (int64_t size = border - 1; size <= border + 1; ++size) sizes.push_back(size);
  }
  for (const AdamWSetup& s : adam_w_all_setups()) {
    for (const int64_t size : sizes) {
      AdamWCall call(s, {size}, Layout::contiguous,
                     size % 2 == 0 ? Placement::ends_at_guard : Placement::starts_at_guard);
      call.fill_ordinary(random);
      ASSERT_TRUE(call.run_and_compare()) << adam_w_text(s) << ", size " << size;
    }
  }
}

TEST(AdamWLayouts, MayDifferFromTensorToTensor) {
  SCOPED_TRACE(seed_text());
  const Shape shapes[] = {{}, {5}, {3, 70}, {70, 3}, {4, 1, 9}, {2, 3, 4, 5}, {2, 1, 2, 1, 3, 2, 1, 67}};
  Random random(test_seed());
  for (const AdamWSetup& s : adam_w_all_setups()) {
    for (int n = 0; n < 30; ++n) {
      const Shape& shape = shapes[static_cast<size_t>(n) % std::size(shapes)];
      AdamWCall call(s, shape);
      for (size_t part = 0; part < kAdamParts; ++part) {
        if (!adam_w_has(s, part)) continue;
        const Layout layout = adam_w_writes(s, part) ? kOutputLayouts[random.below(std::size(kOutputLayouts))]
                                                     : kInputLayouts[random.below(std::size(kInputLayouts))];
        call[part] = HostTensor(adam_w_dtype(s, part), shape, layout);
      }
      call.fill_ordinary(random);
      ASSERT_TRUE(call.run_and_compare()) << adam_w_text(s) << ", shape " << testing::PrintToString(shape);
    }
  }
}

TEST(AdamWStep, EveryCountHasAResult) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();
  Random random(test_seed());
  for (const int64_t step : {kMin, kMin + 1, int64_t{-1000}, int64_t{-2}, int64_t{-1}, int64_t{0}, int64_t{1},
                             int64_t{1000}, int64_t{1} << 62, kMax - 1, kMax}) {
    AdamWCall call(adam_w_setup(2, ACL_FLOAT), {37});
    call.fill_ordinary(random);
    call.number(0).set_bits(0, static_cast<uint64_t>(step));
    ASSERT_TRUE(call.run_and_compare()) << "step " << step;
  }
}

// FLOAT counts are truncated to whole numbers.
TEST(AdamWStep, MayBeAFloatingNumber) {
  const double inf = std::numeric_limits<double>::infinity();
  Random random(test_seed());
  for (const double step :
       {0., -0., .75, 1., 6.5, -.5, -1., -1.5, 1e10, 1e30, -1e30, inf, -inf, std::nan("")}) {
    AdamWSetup s = adam_w_setup(2, ACL_FLOAT);
    s.step_dtype = ACL_FLOAT;
    AdamWCall call(s, {37});
    call.fill_ordinary(random);
    call.number(0).set(0, step);
    ASSERT_TRUE(call.run_and_compare()) << "step " << step;
  }
}

TEST(AdamWNumbers, FollowIeeeForEveryValue) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  const double inf = std::numeric_limits<double>::infinity();
  const double values[] = {0, -0.0, 1, -1, 2, .1, 1e-30, 1e-45, 1e38, 1e300, inf, -inf, std::nan("")};
  double AdamWSetup::*const members[] = {&AdamWSetup::lr, &AdamWSetup::beta1, &AdamWSetup::beta2,
                                         &AdamWSetup::weight_decay, &AdamWSetup::eps};
  for (const double value : values) {
    for (double AdamWSetup::*const member : members) {
      AdamWSetup s = adam_w_setup(2, ACL_FLOAT, true);
      s.*member = value;
      AdamWCall call(s, {70});
      call.fill_anything(random);
      ASSERT_TRUE(call.run_and_compare()) << "a number is " << value;
    }
    for (const aclDataType dtype : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}) {
      for (size_t k = 0; k < AdamWCall::kScalars; ++k) {
        AdamWCall call(adam_w_setup(1, dtype, true), {70});
        call.fill_anything(random);
        call.number(k).set(0, value);
        ASSERT_TRUE(call.run_and_compare()) << "number " << k << " is " << value << ", dtype " << dtype;
      }
    }
  }
}

// One element of any shape, at an offset.
TEST(AdamWNumbers, MayHaveAnyRank) {
  Random random(test_seed());
  for (const int version : {1, 2}) {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{1, 1, 1}}) {
      const AdamWSetup s = adam_w_setup(version, ACL_FLOAT);
      AdamWCall call(s, {50});
      call.fill_ordinary(random);
      for (size_t k = 0; k < (version == 1 ? AdamWCall::kScalars : 1); ++k) {
        HostTensor moved(call.number(k).dtype(), shape, Layout::offset);
        moved.set_bits(0, call.number(k).bits(0));
        call.number(k) = moved;
      }
      ASSERT_TRUE(call.run_and_compare()) << "version " << version << ", rank " << shape.size();
    }
  }
}

TEST(AdamWEmpty, SucceedsWithoutMemory) {
  const int64_t huge = int64_t{1} << 62;
  for (const AdamWSetup& s : adam_w_all_setups()) {
    for (const Shape& shape : {Shape{0}, Shape{3, 0}, Shape{huge, 0}, Shape{0, huge, huge}}) {
      AdamWCall call(s, shape);
      call.forget_memory();
      const Outcome outcome = call.run();
      ASSERT_TRUE(succeeded(outcome)) << adam_w_text(s) << testing::PrintToString(shape);
      ASSERT_EQ(outcome.workspace_bytes, 0u);
    }
  }
}

// Steps of a stream depend on each other: five consecutive steps match the reference. The versions agree if
// their hyperparameters do.
TEST(AdamWCalls, BothVersionsTakeTheSameSteps) {
  Random random(test_seed());
  AdamWSetup second = adam_w_setup(2, ACL_FLOAT);
  for (double AdamWSetup::*const member : {&AdamWSetup::beta1, &AdamWSetup::beta2}) second.*member = .5;
  AdamWSetup first = second;
  first.version = 1;
  AdamWCall a(first, {33000}), b(second, {33000});
  a.fill_ordinary(random);
  for (size_t part = 0; part < kAdamParts; ++part) {
    if (adam_w_has(first, part)) b[part] = a[part].copy(Layout::contiguous);
  }
  for (int64_t step = 0; step < 5; ++step) {
    b.number(0).set_bits(0, static_cast<uint64_t>(step));
    for (const size_t power : {0, 1}) a.number(power).set(0, std::ldexp(1.0, -static_cast<int>(step)));
    ASSERT_TRUE(a.run_and_compare()) << "step " << step;
    ASSERT_TRUE(b.run_and_compare()) << "step " << step;
    ASSERT_EQ(a.bits(), b.bits()) << "step " << step;
  }
}

}  // namespace
}  // namespace openaclnn_test
