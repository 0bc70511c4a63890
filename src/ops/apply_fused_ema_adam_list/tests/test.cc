// ApplyFusedEmaAdamList: the bits of the single operator for every index, the scale, the flag that skips a step, empty lists.
// The programs of tests/ops test the guarantees of all operators with cases.h.
#include <gtest/gtest.h>

#include "ops/apply_fused_ema_adam_list/tests/call_cases.h"
#include "support/subprocess.h"

namespace openaclnn_test {
namespace {

const EmaAttributes kAttributes = {.lr = .01, .ema_decay = .99, .weight_decay = .1};

template <class Choices>
auto any_of(Random& random, const Choices& choices) {
  return choices[random.below(static_cast<int64_t>(std::size(choices)))];
}

// Sizes around vectors, the blocks of conversions, and the places where tensors are split among threads.
int64_t any_size(Random& random) {
  constexpr int64_t kBorders[] = {0, 1, 8, 16, 32, 64, 512, 1024, 2048, 5000};
  return std::max<int64_t>(any_of(random, kBorders) + random.between(-2, 2), 0);
}

Shape any_shape(Random& random) {
  const int64_t size = any_size(random);
  switch (random.below(4)) {
    case 0: return {};
    case 1: return {size / 7, 7};
    case 2: return {3, size / 12, 4};
    default: return {size};
  }
}

IndexCase any_index(Random& random, bool has_copies, bool any_layout) {
  IndexCase index;
  index.dims = any_shape(random);
  index.grad = any_of(random, kFloatDtypes);
  index.var = has_copies ? ACL_FLOAT : any_of(random, kFloatDtypes);
  if (!has_copies && random.chance(2)) index.state = index.var = index.grad;
  index.copy = any_of(random, kHalfDtypes);
  if (any_layout) index.layout = any_of(random, kOutputLayouts);
  return index;
}

void expect_the_bits_of_single_calls(int calls, int64_t most_indices) {
  SCOPED_TRACE(seed_text());
  Random random(test_seed());
  for (int call = 0; call < calls; ++call) {
    const bool has_copies = random.chance(3), any_layout = random.chance(2);
    std::vector<IndexCase> indices;
    for (int64_t n = random.between(1, most_indices); n > 0; --n)
      indices.push_back(any_index(random, has_copies, any_layout));
    ListNumbers numbers = {.t = random.between(1, 2000)};
    if (random.chance(3)) numbers.scale = static_cast<float>(random.magnitude(-3, 16));
    if (random.chance(3)) numbers.found_inf = random.chance(2) ? 0.0f : -0.0f;
    ListCall list(indices, has_copies, numbers,
                  random.chance(2) ? Placement::ends_at_guard : Placement::starts_at_guard);
    random.chance(3) ? list.fill_anything(random) : list.fill_ordinary(random);
    EmaAttributes attributes = kAttributes;
    attributes.mode = random.below(2);
    attributes.bias_correction = !random.chance(4);
    ASSERT_TRUE(list.run_and_compare(attributes)) << "call " << call;
  }
}

TEST(EmaAdamList, HasTheBitsOfSingleCalls) { expect_the_bits_of_single_calls(150, 12); }
TEST(EmaAdamList, HasTheBitsOfSingleCallsForManyTensors) { expect_the_bits_of_single_calls(3, 300); }

PROCESS_TEST(EmaAdamListThreads, HasTheBitsOfSingleCalls) { expect_the_bits_of_single_calls(60, 12); }
TEST(EmaAdamList, ThreadsAndInstructionSetsChangeNothing) {
  for (const char* threads : {"1", "2", "3", "7"}) {
    for (const char* isa : {"scalar", "avx2", "avx512"}) {
      if (std::string(isa) != "avx512" && std::string(threads) != "3") continue;
      const ProcessResult result =
          run_suite("EmaAdamListThreads", {{"OPENACLNN_NUM_THREADS", threads}, {"OPENACLNN_ISA", isa}});
      EXPECT_TRUE(ran_and_passed(result)) << threads << " threads, " << isa << "\n" << result.output;
    }
  }
}

// Every pair of dtypes of gradient and parameter with FLOAT state, and each of the three dtypes alone, at
// sizes around a block.
TEST(EmaAdamList, EveryDtypeAtEverySize) {
  Random random(test_seed());
  std::vector<IndexCase> indices;
  for (const int64_t size : {1, 15, 16, 17, 33, 511, 512, 513, 1023, 1024, 1025, 2049}) {
    for (const aclDataType grad : kFloatDtypes) {
      indices.push_back(uniform_index(grad, {size}));
      for (const aclDataType var : kFloatDtypes) indices.push_back({{size}, grad, var});
    }
  }
  for (const ListNumbers& numbers : {ListNumbers{}, {.scale = 3.0f}}) {
    ListCall list(indices, false, numbers);
    list.fill_ordinary(random);
    EXPECT_TRUE(list.run_and_compare(kAttributes));
  }
}

// One task larger than a thread's share, whose tensors are split among threads.
TEST(EmaAdamList, LargeTensorsAmongSmallOnes) {
  Random random(test_seed());
  ListCall list({uniform_index(ACL_FLOAT, {3}),
                 {{70001}, ACL_BF16, ACL_BF16},
                 uniform_index(ACL_BF16, {100}),
                 uniform_index(ACL_FLOAT, {0}),
                 uniform_index(ACL_BF16, {50000}),
                 uniform_index(ACL_FLOAT, {1})},
                false);
  list.fill_ordinary(random);
  EXPECT_TRUE(list.run_and_compare(kAttributes));
}

// The first test vector of the single operator with a BF16 copy and a scale of 2: gradients are doubled.
TEST(EmaAdamListVectors, ByHand) {
  ListCall list({{{4}}}, true, {.t = int64_t{1} << 62, .scale = 2.0f});
  list(kGrad, 0).fill({1, -2.5, 4, -0.0625});
  list(kVar, 0).fill({1, -2, .5, 3});
  list(kM, 0).fill({.25, .5, -1, 0});
  list(kV, 0).fill({.5, .0625, 4, 0});
  list(kS, 0).fill({1, -1.5, .25, 3.5});
  ASSERT_TRUE(succeeded(list.run({.lr = .01, .ema_decay = .75, .beta2 = .99, .weight_decay = .25})));
  using Words = std::vector<uint64_t>;
  EXPECT_EQ(list(kVar, 0).all_bits(), (Words{0x3f7e5ca5, 0xc0006d5a, 0x3f009375, 0x404028f6}));
  EXPECT_EQ(list(kM, 0).all_bits(), (Words{0x3e8ccccd, 0x3ea66666, 0xbf333333, 0xbb4ccccd}));
  EXPECT_EQ(list(kV, 0).all_bits(), (Words{0x3efeb852, 0x3d9eb852, 0x40800000, 0x3723d70a}));
  EXPECT_EQ(list(kS, 0).all_bits(), (Words{0x3f7f9729, 0xbfd036ad, 0x3ea049ba, 0x40580a3e}));
  EXPECT_EQ(list(kCopy, 0).all_bits(), (Words{0x3f7e, 0xc000, 0x3f01, 0x4040}));
}

// ---- gradScale ----

TEST(EmaAdamListScale, AnyValueFollowsIeee) {
  Random random(test_seed());
  const float inf = std::numeric_limits<float>::infinity();
  for (const float scale : {1.0f, -3.0f, 0.0f, 0x1p-149f, 65536.0f, 1e38f, inf, std::nanf("")}) {
    ListCall list({uniform_index(ACL_FLOAT, {700}), uniform_index(ACL_BF16, {700}), {{700}, ACL_FLOAT16}},
                  false, {.scale = scale});
    list.fill_ordinary(random);
    EXPECT_TRUE(list.run_and_compare(kAttributes)) << scale;
  }
}

// A BF16 gradient divided by 3 has bits that no BF16 gradient has: it is not rounded back to its dtype.
TEST(EmaAdamListScale, TheQuotientIsNotRoundedToTheGradientsDtype) {
  ListCall list({uniform_index(ACL_BF16, {1})}, false, {.scale = 3.0f});
  for (size_t k = 0; k < kCopy; ++k) list(k, 0).fill({0});
  list(kGrad, 0).fill({1});
  ASSERT_TRUE(succeeded(list.run({.lr = 0, .beta1 = -1023})));
  EXPECT_EQ(list(kM, 0).get(0), round_to(ACL_BF16, 1024 * (1.0 / 3)));
  ListCall exact({{{1}, ACL_BF16}}, false, {.scale = 3.0f});
  for (size_t k = 0; k < kCopy; ++k) exact(k, 0).fill({0});
  exact(kGrad, 0).fill({1});
  ASSERT_TRUE(succeeded(exact.run({.lr = 0, .beta1 = 0})));
  EXPECT_EQ(exact(kM, 0).get(0), static_cast<double>(1.0f / 3));
}

// ---- foundInf ----

TEST(EmaAdamListSkip, AnythingButZeroSkipsTheStepAndWritesNothing) {
  Random random(test_seed());
  for (const float flag :
       {1.0f, 2.0f, -1.0f, 0x1p-149f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    for (const int64_t t : {3, 0}) {
      ListCall list({{{3000}, ACL_BF16}, {{40}}}, true, {.t = t, .scale = 0.0f, .found_inf = flag});
      list.fill_ordinary(random);
      list.remember();
      EXPECT_TRUE(succeeded(list.run(kAttributes)));
      EXPECT_TRUE(list.unchanged()) << flag;
    }
  }
}

// ---- empty ----

TEST(EmaAdamListEmpty, ListsOfLengthZeroAndEmptyTensorsAreDone) {
  ListCall none(std::vector<IndexCase>{}, false);
  EXPECT_TRUE(succeeded(none.run(kAttributes)));
  ListCall copies(std::vector<IndexCase>{}, true, {.scale = 2.0f, .found_inf = 0.0f});
  EXPECT_TRUE(succeeded(copies.run(kAttributes)));
  ListCall empty({uniform_index(ACL_FLOAT, {0}), uniform_index(ACL_BF16, {3, 0, 2})}, false);
  EXPECT_TRUE(empty.run_and_compare(kAttributes));
}

}  // namespace
}  // namespace openaclnn_test
