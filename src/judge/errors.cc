// Measures the errors of all elements in one pass by tiles.
#include "judge/errors.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "judge/elements.h"
#include "verify/golden/workers.h"

namespace openaclnn_judge {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kTile = 4096;

int histogram_bin(double ulps) {
  if (ulps == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(ulps, &exponent);      // ulps in [2^(exponent - 1), 2^exponent)
  const int bin = exponent + 2 - (fraction == .5 ? 1 : 0);  // powers of two belong to the lower bin
  return std::clamp(bin, 1, UlpHistogram::kBins - 1);
}

struct Candidate {
  int64_t element;
  ElementError error;
  double device, exact;

  double badness(bool has_bound) const { return has_bound ? error.share : error.ulps; }
};

// Wrong elements first, then by error, then by position.
bool is_worse(const Candidate& a, const Candidate& b, bool has_bound) {
  if (a.error.is_wrong != b.error.is_wrong) return a.error.is_wrong;
  const double one = a.badness(has_bound), other = b.badness(has_bound);
  if (one != other) return one > other;
  return a.element < b.element;
}

struct BinSum {
  int64_t elements = 0;
  double largest = 0, sum = 0;
};

// The binary exponents of doubles, from the smallest subnormal one on.
constexpr int kLowExponent = -1074, kExponents = 1024 - kLowExponent;

struct Shard {
  int64_t wrong = 0;
  UlpHistogram ulps;
  std::vector<BinSum> bins = std::vector<BinSum>(kExponents);
  std::vector<Candidate> worst;

  void keep(const Candidate& candidate, size_t most, bool has_bound) {
    const auto worse = [&](const Candidate& a, const Candidate& b) { return is_worse(a, b, has_bound); };
    if (worst.size() == most && (most == 0 || !worse(candidate, worst.back()))) return;
    worst.insert(std::ranges::upper_bound(worst, candidate, worse), candidate);
    if (worst.size() > most) worst.pop_back();
  }
};

void add_tile(const ElementRule& rule, const Tile& tile, size_t most, Shard& shard) {
  for (size_t i = 0; i < tile.device.size(); ++i) {
    const double device = tile.device[i], exact = tile.exact[i];
    const ElementError error = rule(device, exact, tile.bound.empty() ? 0 : tile.bound[i]);
    shard.wrong += error.is_wrong ? 1 : 0;
    if (!error.is_finite) {
      ++shard.ulps.not_finite;
    } else {
      ++shard.ulps.counts[static_cast<size_t>(histogram_bin(error.ulps))];
      if (exact != 0) {
        BinSum& bin = shard.bins[static_cast<size_t>(std::ilogb(exact) - kLowExponent)];
        ++bin.elements;
        bin.largest = std::max(bin.largest, error.ulps);
        bin.sum += error.ulps;
      }
    }
    if (error.is_wrong || error.ulps > 0)
      shard.keep({tile.begin + static_cast<int64_t>(i), error, device, exact}, most, rule.has_bound());
  }
}

// For types without real numbers, such as COMPLEX64: bytes are equal or not.
void compare_bytes(const Pair& pair, int worst, OutputReport& report) {
  const int64_t bytes = openaclnn_verify::element_bytes(pair.device.dtype);
  for (int64_t i = 0; i < report.elements; ++i) {
    if (std::memcmp(pair.device.data.get() + i * bytes, pair.golden.data.get() + i * bytes,
                    static_cast<size_t>(bytes)) == 0) {
      ++report.ulps.counts[0];
      continue;
    }
    ++report.ulps.not_finite;
    if (report.wrong++ < worst) {
      const double unknown = std::numeric_limits<double>::quiet_NaN();
      report.worst.push_back({index_of(i, pair.device.dims), unknown, unknown, kInfinity, kInfinity, 0, {}});
    }
  }
}

}  // namespace

// Infinities, or the largest finite number if a bound is given, where the exact value is beyond the range.
bool ElementRule::is_overflow(double device, double exact, double bound) const {
  if (!spacing_.is_float() || !std::isfinite(exact) || std::signbit(device) != std::signbit(exact))
    return false;
  const double largest = spacing_.largest(), magnitude = std::fabs(exact);
  if (std::isinf(device)) {
    if (!has_bound_) return std::isinf(spacing_.round(exact));
    return magnitude > largest || magnitude + bound >= largest + spacing_.ulp(largest) / 2;
  }
  return has_bound_ && magnitude > largest && std::fabs(device) == largest;
}

ElementError ElementRule::operator()(double device, double exact, double bound) const {
  ElementError result;
  result.is_finite = std::isfinite(device) && std::isfinite(exact);
  if (device == exact || (std::isnan(device) && std::isnan(exact))) return result;
  if (result.is_finite) {
    result.error = std::fabs(device - exact);
    result.ulps = result.error / spacing_.ulp(exact);
  }
  const bool is_uncovered = has_bound_ && std::isnan(bound) && std::isfinite(exact);
  if (is_uncovered || is_overflow(device, exact, bound)) return result;
  if (!result.is_finite) {
    result.error = result.ulps = result.share = kInfinity;
    result.is_wrong = true;
  } else if (!has_bound_) {
    result.is_wrong = device != spacing_.round(exact);
  } else {
    result.share = result.error / (spacing_.ulp(device) / 2 + bound);
    result.is_wrong = result.share > 1;
  }
  return result;
}

bool has_numbers(const Pair& pair) {
  const auto is_complex = [](aclDataType dtype) { return dtype == ACL_COMPLEX64 || dtype == ACL_COMPLEX128; };
  return !is_complex(pair.device.dtype) && !is_complex(pair.golden.dtype);
}

namespace {

// Integers beyond 2^53 may differ although their doubles are equal. The exact ones of those are moved to the next double.
void separate_large_integers(const Pair& pair, int64_t begin, std::span<const double> device,
                             std::span<double> exact) {
  const int64_t bytes = openaclnn_verify::element_bytes(pair.device.dtype);
  const std::byte *const one = pair.device.data.get() + begin * bytes, *const other = pair.golden.data.get() +
                                                                                      begin * bytes;
  for (size_t i = 0; i < device.size(); ++i) {
    const auto offset = static_cast<ptrdiff_t>(i) * bytes;
    if (device[i] == exact[i] && std::memcmp(one + offset, other + offset, static_cast<size_t>(bytes)) != 0)
      exact[i] = std::nextafter(exact[i], 0);
  }
}

}  // namespace

void for_each_tile(const Pair& pair, int threads, const std::function<void(int shard, const Tile&)>& visit) {
  const int64_t elements = pair.device.numel();
  const int64_t tiles = (elements + kTile - 1) / kTile;
  const int shards = static_cast<int>(std::min<int64_t>(kShards, tiles));
  const bool has_large_integers = has_long_integers(pair.device, pair.golden);
  std::atomic<int> next = 0;
  const auto work = [&] {
    std::vector<double> device(kTile), exact(kTile);
    for (int shard = next++; shard < shards; shard = next++) {
      for (int64_t t = tiles * shard / shards; t < tiles * (shard + 1) / shards; ++t) {
        const int64_t begin = t * kTile;
        const auto count = static_cast<size_t>(std::min(kTile, elements - begin));
        pair.device.widen(begin, std::span(device).first(count));
        pair.golden.widen(begin, std::span(exact).first(count));
        if (has_large_integers)
          separate_large_integers(pair, begin, std::span(device).first(count), std::span(exact).first(count));
        Tile tile = {begin, std::span(device).first(count), std::span(exact).first(count), {}};
        if (!pair.bound.empty())
          tile.bound = std::span(pair.bound).subspan(static_cast<size_t>(begin), count);
        visit(shard, tile);
      }
    }
  };
  constexpr int64_t kWorthThreads = 32;  // tiles: starting threads costs as much as a few of them
  if (tiles < kWorthThreads) threads = 1;
  openaclnn_verify::run_workers(threads, shards, work);
}

std::vector<int64_t> index_of(int64_t element, std::span<const int64_t> dims) {
  std::vector<int64_t> index(dims.size());
  for (size_t k = dims.size(); k-- > 0; element /= dims[k]) index[k] = element % dims[k];
  return index;
}

void measure_errors(const Pair& pair, int worst, int threads, OutputReport& report) {
  report.elements = pair.device.numel();
  worst = std::max(worst, 0);
  if (!has_numbers(pair)) return compare_bytes(pair, worst, report);
  const ElementRule rule(pair);
  std::vector<Shard> shards(kShards);
  for_each_tile(pair, threads, [&](int shard, const Tile& tile) {
    add_tile(rule, tile, static_cast<size_t>(worst), shards[static_cast<size_t>(shard)]);
  });
  Shard all;
  for (const Shard& shard : shards) {
    all.wrong += shard.wrong;
    all.ulps.not_finite += shard.ulps.not_finite;
    for (size_t k = 0; k < shard.ulps.counts.size(); ++k) all.ulps.counts[k] += shard.ulps.counts[k];
    for (size_t k = 0; k < all.bins.size(); ++k) {
      all.bins[k].elements += shard.bins[k].elements;
      all.bins[k].largest = std::max(all.bins[k].largest, shard.bins[k].largest);
      all.bins[k].sum += shard.bins[k].sum;
    }
    for (const Candidate& candidate : shard.worst)
      all.keep(candidate, static_cast<size_t>(worst), rule.has_bound());
  }
  report.wrong = all.wrong;
  report.ulps = all.ulps;
  for (int k = 0; k < kExponents; ++k) {
    const BinSum& bin = all.bins[static_cast<size_t>(k)];
    if (bin.elements == 0) continue;
    const double mean = bin.sum / static_cast<double>(bin.elements);
    report.magnitudes.push_back({k + kLowExponent, bin.elements, bin.largest, mean});
  }
  for (const Candidate& c : all.worst) {
    report.worst.push_back({index_of(c.element, pair.device.dims),
                            c.device,
                            c.exact,
                            c.error.error,
                            c.error.ulps,
                            c.error.share,
                            {}});
  }
}

}  // namespace openaclnn_judge
