// The kernels of goldens give the same bits with every instruction set.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/copies.h"
#include "base/instruction_sets.h"
#include "ops/apply_adam_w/verify/golden_kernel.h"
#include "ops/apply_fused_ema_adam/verify/golden_kernel.h"
#include "verify/random.h"

namespace openaclnn_verify {
namespace {

// Numbers of all sizes that float has.
void fill(Random& random, ElementTile& tile) {
  constexpr double kSpecial[] = {0, -0.0, 1, 0x1p-149, 0x1p127, std::numeric_limits<double>::infinity()};
  for (double& element : tile.of) {
    const double size = random.uniform(0, 1) < 0.5 ? 1 : std::exp2(random.uniform(-140, 120));
    element = static_cast<float>(random.uniform(-1, 1) * size);
    if (random.uniform(0, 1) < 0.01) element = kSpecial[random.below(std::size(kSpecial))];
  }
}

template <size_t outputs>
struct Results {
  ElementTile exact[outputs], bound[outputs];

  template <class Io>
  void place(Io& io) {
    for (size_t k = 0; k < outputs; ++k) io.results[k] = {exact[k].of, bound[k].of};
  }
};

bool same_bits(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0;
}

// Expects that all copies for this processor compute what the first does.
template <class Io, class Kernel, class Settings, size_t outputs, size_t copies>
void expect_equal(Kernel* const (&kernels)[copies], const Settings& settings, Io& io,
                  const Results<outputs>& first) {
  for (size_t copy = 1; copy <= static_cast<size_t>(openaclnn::best_isa()); ++copy) {
    SCOPED_TRACE(openaclnn::isa_name(static_cast<openaclnn::Isa>(copy)));
    Results<outputs> other;
    other.place(io);
    kernels[copy](settings, io);
    for (size_t k = 0; k < outputs; ++k) {
      for (size_t i = 0; i < kTileElements; ++i) {
        // A NaN makes the caller compute the element again, and gives it no bound.
        if (!std::isfinite(first.exact[k].of[i]) && !std::isfinite(other.exact[k].of[i])) continue;
        ASSERT_TRUE(same_bits(first.exact[k].of[i], other.exact[k].of[i])) << k << " " << i;
        ASSERT_TRUE(same_bits(first.bound[k].of[i], other.bound[k].of[i])) << k << " " << i;
      }
    }
  }
}

TEST(GoldenCopies, OfEmaAdamAgree) {
  Random random(test_seed());
  EmaTileSettings settings = {};
  settings.given = {1e-3, 0.9999, 0.9, 0.999, 1e-8, 0.01};
  settings.constants = {one_minus(0.9), one_minus(0.999), one_minus(0.9999), {1.7, 0x1p-60}, {2.3, -0x1p-58}};
  settings.is_usual = true;
  for (int n = 0; n < 100; ++n) {
    SCOPED_TRACE(seed_text());
    settings.joins_gradient = n % 2 == 0;
    settings.divides = n % 4 < 2;
    settings.divisor = random.uniform(0.1, 10);
    for (size_t k = 0; k < kEmaOutputs; ++k) {
      settings.at_zero[k] = static_cast<double>(random.below(20));
      settings.per_kappa[k] = settings.joins_gradient ? 5 : 0;
    }
    const auto io = std::make_unique<EmaTileIo>();
    for (ElementTile& tile : io->before) fill(random, tile);
    for (double& v : io->before[kTileV].of) v = std::fabs(v);
    Results<kEmaOutputs> first;
    first.place(*io);
    isa_baseline::compute_ema_tile(settings, *io);
    expect_equal<EmaTileIo, EmaTileKernel>(OPENACLNN_COPIES(compute_ema_tile), settings, *io, first);
  }
}

TEST(GoldenCopies, OfAdamWAgree) {
  Random random(test_seed());
  AdamWTileSettings settings = {};
  settings.constants = {one_minus(0.9), one_minus(0.99), {1e-3, 0x1p-70},
                        {1.3, 0x1p-60}, {1e-5, 0x1p-80}, one_minus(1e-5)};
  settings.is_usual = true;
  for (int n = 0; n < 100; ++n) {
    SCOPED_TRACE(seed_text());
    settings.attributes = {0.99, 1e-8, n % 2 == 0, n % 3 == 0, n % 4 == 0};
    for (double& c : settings.c) c = static_cast<double>(random.below(20));
    const auto io = std::make_unique<AdamWTileIo>();
    for (ElementTile* const tile :
         {&io->before.grad, &io->before.var, &io->before.m, &io->before.v, &io->before.maximum})
      fill(random, *tile);
    for (double& v : io->before.v.of) v = std::fabs(v);
    Results<kAdamWOutputs> first;
    first.place(*io);
    isa_baseline::compute_adam_w_tile(settings, *io);
    expect_equal<AdamWTileIo, AdamWTileKernel>(OPENACLNN_COPIES(compute_adam_w_tile), settings, *io, first);
  }
}

}  // namespace
}  // namespace openaclnn_verify
