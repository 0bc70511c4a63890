// Exact sums of many columns at a time. A tile is one result row's stretch of columns, small enough for the caches. Its
// terms are added in chunks whose sizes depend on shapes only, so the bits don't depend on the number of threads.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>

#include "verify/golden/double_double.h"

namespace openaclnn_verify {

inline constexpr int64_t kTileColumns = 1024;

// The share of a product in the magnitude of its sum. A nonzero product counts as at least 2^-126: it may lose up to 2^-150 when
// it is added.
inline double counted_magnitude(double product) {
  const double size = std::fabs(product), at_least = size < 0x1p-126 ? 0x1p-126 : size;
  return size == 0 ? 0 : at_least;
}

// The sums of up to kTileColumns columns, and the sums of the terms' magnitudes. The error of a sum of n terms is below
// n^2 * 2^-106 of its magnitudes.
struct SumTile {
  int64_t columns = 0;
  std::array<double, kTileColumns> high, low, magnitude;

  void clear(int64_t count);
  // Adds a term to every column.
  void add(const double* terms);
  // Adds terms weights[c] * values[c]. They must be exact in double, as products of two floats are.
  void add_products(const double* weights, const double* values);
  // Adds the sums of other terms.
  void add(const SumTile& other);

  // Infinite and NaN sums are those of IEEE arithmetic.
  DoubleDouble sum(int64_t column) const {
    const auto c = static_cast<size_t>(column);
    return std::isfinite(high[c]) ? ordered_sum(high[c], low[c]) : DoubleDouble(high[c]);
  }
};

struct SumsOfTiles {
  int64_t tiles = 0;
  std::function<int64_t(int64_t tile)> columns;  // of the tile
  std::function<int64_t(int64_t tile)> chunks;   // of its terms
  std::function<void(int64_t tile, int64_t chunk, SumTile& sums)> add_chunk;
  std::function<void(int64_t tile, const SumTile& sums)> finish;
};

// Computes all tiles. Threads share the tiles, and the chunks of a tile that is a large part of the work.
void sum_tiles(const SumsOfTiles& sums, int threads);

// The number of terms of a chunk in a tile with this many columns.
inline int64_t terms_of_chunk(int64_t columns) {
  constexpr int64_t kLeastTerms = 1024, kElements = 65536;
  return std::max(kLeastTerms, kElements / std::max<int64_t>(columns, 1));
}

}  // namespace openaclnn_verify
