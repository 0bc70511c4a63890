// The errors of the elements of a pair: which are wrong, and by how much.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "judge/report.h"
#include "judge/spacing.h"

namespace openaclnn_judge {

struct ElementError {
  double error = 0;  // |device - exact|; infinite if only one of them is finite
  double ulps = 0;
  double share = 0;  // of the allowed error; 0 if no bound is known
  bool is_wrong = false;
  bool is_finite = true;  // both numbers
};

// Decides about single elements, as the rule openaclnn does: with a bound, an element is right if
// |device - exact| <= ulp(device) / 2 + bound. Where the bound is NaN, every number is right if the exact value is finite. Without
// a bound, only the rounded golden is right. NaN requires NaN, and an infinity the same infinity.
class ElementRule {
 public:
  explicit ElementRule(const Pair& pair) : spacing_(pair.device.dtype), has_bound_(!pair.bound.empty()) {}

  ElementError operator()(double device, double exact, double bound) const;
  const Spacing& spacing() const { return spacing_; }
  bool has_bound() const { return has_bound_; }

 private:
  bool is_overflow(double device, double exact, double bound) const;

  Spacing spacing_;
  bool has_bound_;
};

// A run of elements of a pair as doubles.
struct Tile {
  int64_t begin = 0;
  std::span<const double> device, exact, bound;  // no bound: empty
};

// Calls visit(shard, tile) for all elements, tile by tile. The elements are divided into a fixed number of shards, so that
// sums don't depend on the number of threads. Different shards may run at the same time.
inline constexpr int kShards = 16;
void for_each_tile(const Pair& pair, int threads, const std::function<void(int shard, const Tile&)>& visit);

// Returns true if both arrays have real numbers, so that errors can be measured.
bool has_numbers(const Pair& pair);

std::vector<int64_t> index_of(int64_t element, std::span<const int64_t> dims);

// Fills in the counts, the worst elements, the histogram and the bins of `report`.
void measure_errors(const Pair& pair, int worst, int threads, OutputReport& report);

}  // namespace openaclnn_judge
