// Tests conversions between storage types and fp32: scalar code against the definition of the formats, and
// vector code of every instruction set against scalar code. It covers all widenings, narrowings of every
// upper half of a float with random lower halves and those where rounding decides, and all floats against
// the borders between the results.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include "cpu/dispatch.h"
#include "support/verify.h"
#include "vector_conversions.h"
#include "verify/number.h"
#include "verify/random.h"

namespace openaclnn {
namespace {

using openaclnn_test::Random;

// Floats with all 2^16 upper halves.
const std::vector<float>& probes() {
  static const std::vector<float> all = [] {
    Random random(openaclnn_test::test_seed());
    std::vector<float> made;
    for (uint32_t upper = 0; upper < 0x10000; ++upper) {
      for (uint32_t lower : {0x0000u, 0x0001u, 0x0FFFu, 0x1000u, 0x1001u, 0x1FFFu, 0x2000u, 0x2FFFu, 0x3000u,
                             0x3001u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
        made.push_back(std::bit_cast<float>(upper << 16 | lower));
      }
      for (int k = 0; k < 6; ++k)
        made.push_back(std::bit_cast<float>(upper << 16 | (static_cast<uint32_t>(random.bits()) & 0xFFFFu)));
    }
    made.push_back(1.0f);  // an odd count, so that vectors have a remainder
    return made;
  }();
  return all;
}

template <class Storage>
Storage scalar_narrow(float x);
template <>
Float16 scalar_narrow<Float16>(float x) {
  return narrow_f16(x);
}
template <>
Bfloat16 scalar_narrow<Bfloat16>(float x) {
  return narrow_bf16(x);
}

TEST(Conversions, WideningsAreExact) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    for (const auto& [dtype, wide] :
         {std::pair(ACL_FLOAT16, widen(Float16{half})), {ACL_BF16, widen(Bfloat16{half})}}) {
      const double expected = openaclnn_test::decode(dtype, bits);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(wide)) << std::hex << bits;
      } else {
        ASSERT_EQ(static_cast<double>(wide), expected) << std::hex << bits;
        ASSERT_EQ(std::signbit(wide), std::signbit(expected)) << std::hex << bits;
      }
    }
  }
}

TEST(Conversions, NarrowingsRoundToNearestEven) {
  for (float x : probes()) {
    ASSERT_EQ(narrow_f16(x).bits, openaclnn_test::encode(ACL_FLOAT16, static_cast<double>(x)))
        << std::hexfloat << x;
    ASSERT_EQ(narrow_bf16(x).bits, openaclnn_test::encode(ACL_BF16, static_cast<double>(x)))
        << std::hexfloat << x;
  }
}

// The definition in double, against the processor's conversion from double to float and its doubles.
TEST(Conversions, TheDefinitionRoundsLikeTheProcessor) {
  Random random(openaclnn_test::test_seed());
  std::vector<double> values = {0.0,
                                -0.0,
                                0x1p-149,
                                0x1p-150,
                                0x1.8p-150,
                                0x1p-126,
                                0x1.fffffep127,
                                0x1.ffffffp127,
                                0x1.fffffefffffffp127,
                                0x1p128,
                                0x1p-1074,
                                0x1.fffffffffffffp1023,
                                std::numeric_limits<double>::infinity()};
  for (int n = 0; n < 1000000; ++n) {
    // Any double, one in float's range, and one in the middle of two floats or next to it.
    values.push_back(std::bit_cast<double>(random.bits()));
    const double near = random.signed_magnitude(-155, 130);
    values.push_back(near);
    const uint64_t tie = (std::bit_cast<uint64_t>(near) & ~0x1FFFFFFFu) | 0x10000000u;
    values.push_back(std::bit_cast<double>(tie + static_cast<uint64_t>(random.between(-1, 1))));
  }
  for (const double value : values) {
    if (std::isnan(value)) continue;
    const auto rounded = static_cast<float>(value);
    ASSERT_EQ(openaclnn_test::encode(ACL_FLOAT, value), std::bit_cast<uint32_t>(rounded))
        << std::hexfloat << value;
    ASSERT_EQ(std::bit_cast<uint64_t>(openaclnn_test::round_to(ACL_FLOAT, value)),
              std::bit_cast<uint64_t>(static_cast<double>(rounded)))
        << std::hexfloat << value;
    ASSERT_EQ(std::bit_cast<uint64_t>(openaclnn_test::decode(ACL_FLOAT, std::bit_cast<uint32_t>(rounded))),
              std::bit_cast<uint64_t>(static_cast<double>(rounded)));
    ASSERT_EQ(openaclnn_test::encode(ACL_DOUBLE, value), std::bit_cast<uint64_t>(value))
        << std::hexfloat << value;
    ASSERT_EQ(std::bit_cast<uint64_t>(openaclnn_test::round_to(ACL_DOUBLE, value)),
              std::bit_cast<uint64_t>(value))
        << std::hexfloat << value;
    ASSERT_EQ(std::bit_cast<uint64_t>(openaclnn_test::decode(ACL_DOUBLE, std::bit_cast<uint64_t>(value))),
              std::bit_cast<uint64_t>(value));
  }
}

TEST(Conversions, TheCallersRoundingModeHasNoPart) {
  std::vector<uint16_t> expected;
  for (float x : probes()) expected.push_back(narrow_f16(x).bits);
  for (int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    ASSERT_EQ(std::fesetround(mode), 0);
    size_t differing = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      volatile float x = probes()[i];
      differing += narrow_f16(x).bits != expected[i] ? 1 : 0;
    }
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(differing, 0u) << "mode " << mode;
  }
}

struct Level {
  cpu::Isa isa;
  void (*narrow_f16)(Narrowing, const float*, Float16*, int64_t);
  void (*narrow_bf16)(Narrowing, const float*, Bfloat16*, int64_t);
  void (*narrow_f32)(Narrowing, const float*, float*, int64_t);
  std::vector<void (*)(const Float16*, float*, int64_t)> widen_f16;
  std::vector<void (*)(const Bfloat16*, float*, int64_t)> widen_bf16;
  std::vector<void (*)(const float*, int64_t, float*)> sum_lanes;
};

const Level kLevels[] = {
    {cpu::Isa::baseline,
     isa_baseline::narrow,
     isa_baseline::narrow,
     isa_baseline::narrow,
     {isa_baseline::widen_all, isa_baseline::widen_pairs, isa_baseline::widen_lanes},
     {isa_baseline::widen_all, isa_baseline::widen_pairs, isa_baseline::widen_lanes},
     {isa_baseline::sum_lanes, isa_baseline::sum_lanes_together, isa_baseline::sum_lanes_of_bfloat16}},
#if defined(__x86_64__)
    {cpu::Isa::avx2,
     isa_avx2::narrow,
     isa_avx2::narrow,
     isa_avx2::narrow,
     {isa_avx2::widen_all, isa_avx2::widen_pairs, isa_avx2::widen_lanes},
     {isa_avx2::widen_all, isa_avx2::widen_pairs, isa_avx2::widen_lanes},
     {isa_avx2::sum_lanes, isa_avx2::sum_lanes_together, isa_avx2::sum_lanes_of_bfloat16}},
    {cpu::Isa::avx512,
     isa_avx512::narrow,
     isa_avx512::narrow,
     isa_avx512::narrow,
     {isa_avx512::widen_all, isa_avx512::widen_pairs, isa_avx512::widen_lanes},
     {isa_avx512::widen_all, isa_avx512::widen_pairs, isa_avx512::widen_lanes},
     {isa_avx512::sum_lanes, isa_avx512::sum_lanes_together, isa_avx512::sum_lanes_of_bfloat16}},
#endif
};

class VectorConversions : public testing::TestWithParam<Level> {
 protected:
  void SetUp() override {
    if (GetParam().isa > cpu::active_isa()) {
      GTEST_SKIP() << "this CPU (or OPENACLNN_ISA) has no " << cpu::isa_name(GetParam().isa);
    }
  }
};

// Results of narrowing the probes, in memory that streaming stores may use.
template <class Storage>
std::span<Storage> narrow_probes(void (*narrow)(Narrowing, const float*, Storage*, int64_t), Narrowing way,
                                 std::vector<Storage>& memory) {
  constexpr size_t kAlignment = 64;
  memory.resize(probes().size() + kAlignment);
  void* start = memory.data();
  size_t space = memory.size() * sizeof(Storage);
  auto* const aligned = static_cast<Storage*>(std::align(kAlignment, sizeof(Storage), start, space));
  narrow(way, probes().data(), aligned, static_cast<int64_t>(probes().size()));
  return {aligned, probes().size()};
}

template <class Storage>
void expect_same_narrowings(void (*narrow)(Narrowing, const float*, Storage*, int64_t)) {
  for (Narrowing way : kNarrowings) {
    std::vector<Storage> memory;
    const std::span<Storage> narrowed = narrow_probes(narrow, way, memory);
    for (size_t i = 0; i < narrowed.size(); ++i) {
      ASSERT_EQ(narrowed[i].bits, scalar_narrow<Storage>(probes()[i]).bits)
          << std::hexfloat << probes()[i] << ", way " << static_cast<int>(way);
    }
  }
}

TEST_P(VectorConversions, NarrowLikeScalarCode) {
  expect_same_narrowings<Float16>(GetParam().narrow_f16);
  expect_same_narrowings<Bfloat16>(GetParam().narrow_bf16);
}

// The order of additions that the operators promise: lane l plus lane l + 8, then distances 4, 2 and 1.
TEST_P(VectorConversions, SumLanesInOneOrder) {
  constexpr size_t kGroups = 37, kLanes = 16;
  Random random(openaclnn_test::test_seed());
  std::vector<float> lanes;
  for (size_t i = 0; i < kGroups * kLanes; ++i)
    lanes.push_back(static_cast<float>(random.uniform(-1, 1) * std::ldexp(1.0, static_cast<int>(i % 24))));
  for (const auto& sum_lanes : GetParam().sum_lanes) {
    std::vector<float> sums((kGroups + kLanes - 1) / kLanes * kLanes);
    sum_lanes(lanes.data(), kGroups, sums.data());
    for (size_t k = 0; k < kGroups; ++k) {
      std::array<float, kLanes> expected;
      std::copy_n(lanes.begin() + static_cast<std::ptrdiff_t>(k * kLanes), kLanes, expected.begin());
      for (size_t distance = kLanes / 2; distance > 0; distance /= 2) {
        for (size_t l = 0; l < distance; ++l) expected[l] += expected[l + distance];
      }
      ASSERT_EQ(sums[k], expected[0]) << "group " << k;
    }
  }
}

TEST_P(VectorConversions, StoreOneNaNAndKeepTheRest) {
  for (Narrowing way : kNarrowings) {
    std::vector<float> memory;
    const std::span<float> stored = narrow_probes(GetParam().narrow_f32, way, memory);
    for (size_t i = 0; i < stored.size(); ++i) {
      const uint32_t bits = std::bit_cast<uint32_t>(probes()[i]);
      ASSERT_EQ(std::bit_cast<uint32_t>(stored[i]), std::isnan(probes()[i]) ? 0x7FC00000u : bits)
          << std::hex << bits << ", way " << static_cast<int>(way);
    }
  }
}

template <class Storage>
void expect_same_widenings(void (*widen_all)(const Storage*, float*, int64_t)) {
  std::vector<Storage> halves(0x10000);
  for (uint32_t bits = 0; bits < 0x10000; ++bits) halves[bits] = {static_cast<uint16_t>(bits)};
  std::vector<float> widened(halves.size());
  widen_all(halves.data(), widened.data(), static_cast<int64_t>(halves.size()));
  for (size_t i = 0; i < halves.size(); ++i) {
    const float expected = widen(halves[i]);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(widened[i])) << i;  // hardware may quiet a signalling NaN
    } else {
      ASSERT_EQ(std::bit_cast<uint32_t>(widened[i]), std::bit_cast<uint32_t>(expected)) << i;
    }
  }
}

TEST_P(VectorConversions, WidenLikeScalarCode) {
  for (const auto widen : GetParam().widen_f16) expect_same_widenings<Float16>(widen);
  for (const auto widen : GetParam().widen_bf16) expect_same_widenings<Bfloat16>(widen);
}

// ---- all floats ----

// The results of narrowing all floats with one sign bit, in the order of their bits, as ranges of equal
// results. A range ends in the middle between two neighbours of the narrow format, which a float holds
// exactly.
struct Stretch {
  uint32_t first;
  uint16_t result;
};
std::vector<Stretch> stretches(aclDataType dtype, uint16_t infinity) {
  std::vector<Stretch> all = {{0, 0}};
  for (uint16_t result = 1; result <= infinity; ++result) {
    const double below = openaclnn_test::decode(dtype, result - 1u);
    // Beyond the largest number the format continues as if there were one more.
    const double above = result == infinity ? 2 * below - openaclnn_test::decode(dtype, result - 2u)
                                            : openaclnn_test::decode(dtype, result);
    const auto middle = std::bit_cast<uint32_t>(static_cast<float>((below + above) / 2));
    all.push_back({result % 2 == 0 ? middle : middle + 1, result});  // a tie goes to the even one
  }
  const auto nan = static_cast<uint16_t>(infinity | (dtype == ACL_BF16 ? 0x40 : 0x200));
  all.push_back({0x7F800001u, nan});
  return all;
}

constexpr uint32_t kBlock = 1u << 18;  // floats per block

// The expected results of the floats from `first` on.
void expect_stretches(const std::vector<Stretch>& all, uint32_t first, std::vector<uint16_t>& expected) {
  const uint32_t magnitude = first & 0x7FFFFFFFu;
  const uint16_t sign = first != magnitude ? 0x8000 : 0;
  auto at = std::upper_bound(all.begin(), all.end(), magnitude,
                             [](uint32_t bits, const Stretch& stretch) { return bits < stretch.first; });
  for (uint32_t done = 0; done < kBlock; ++at) {
    const Stretch& stretch = *std::prev(at);
    const uint32_t end = at == all.end() ? kBlock : std::min(kBlock, at->first - magnitude);
    const bool is_nan = stretch.first > 0x7F800000u;
    std::fill(expected.begin() + done, expected.begin() + end,
              static_cast<uint16_t>(is_nan ? stretch.result : stretch.result | sign));
    done = end;
  }
}

struct Count {
  std::atomic<uint64_t> patterns{0};
  std::atomic<uint64_t> mismatches{0};
};

template <class Storage>
void narrow_all(void (*narrow)(Narrowing, const float*, Storage*, int64_t), const std::vector<Stretch>& all,
                Narrowing way, uint32_t every, Count& count) {
  std::atomic<uint64_t> next{0};
  const auto work = [&] {
    std::vector<uint32_t> bits(kBlock);
    std::vector<uint16_t> expected(kBlock);
    std::unique_ptr<Storage[], decltype(&std::free)> narrowed(
        static_cast<Storage*>(std::aligned_alloc(64, kBlock * sizeof(Storage))), std::free);
    for (uint64_t first = next.fetch_add(uint64_t{kBlock} * every); first <= UINT32_MAX;
         first = next.fetch_add(uint64_t{kBlock} * every)) {
      std::iota(bits.begin(), bits.end(), static_cast<uint32_t>(first));
      narrow(way, reinterpret_cast<const float*>(bits.data()), narrowed.get(), kBlock);
      expect_stretches(all, static_cast<uint32_t>(first), expected);
      count.patterns += kBlock;
      if (std::memcmp(narrowed.get(), expected.data(), kBlock * sizeof(Storage)) == 0) continue;
      for (uint32_t k = 0; k < kBlock; ++k) count.mismatches += narrowed[k].bits != expected[k] ? 1 : 0;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned k = 0; k < std::max(std::thread::hardware_concurrency(), 1u); ++k) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

// OPENACLNN_TEST_EVERY: one block of this many is tried; 1: all 2^32 floats. OPENACLNN_TEST_WAYS: ways to narrow.
uint32_t number_from_environment(const char* name, uint32_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : otherwise;
}

TEST_P(VectorConversions, NarrowAllFloats) {
  const uint32_t every = number_from_environment("OPENACLNN_TEST_EVERY", 257);
  const uint32_t ways = number_from_environment("OPENACLNN_TEST_WAYS", 1);
  Count count;
  for (uint32_t way = 0; way < ways; ++way) {
    narrow_all(GetParam().narrow_f16, stretches(ACL_FLOAT16, 0x7C00), kNarrowings[way], every, count);
    narrow_all(GetParam().narrow_bf16, stretches(ACL_BF16, 0x7F80), kNarrowings[way], every, count);
  }
  EXPECT_EQ(count.mismatches, 0u);
  std::printf("narrowed %s %llu patterns, %llu mismatches\n", cpu::isa_name(GetParam().isa),
              static_cast<unsigned long long>(count.patterns),
              static_cast<unsigned long long>(count.mismatches));
}

INSTANTIATE_TEST_SUITE_P(Isa, VectorConversions, testing::ValuesIn(kLevels),
                         [](const auto& level) { return std::string(cpu::isa_name(level.param.isa)); });

}  // namespace
}  // namespace openaclnn
