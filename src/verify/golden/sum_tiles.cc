// Adds terms to tiles, and divides the tiles among threads.
#include "verify/golden/sum_tiles.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "verify/golden/workers.h"

namespace openaclnn_verify {

void SumTile::clear(int64_t count) {
  columns = count;
  std::fill_n(high.begin(), count, 0.0);
  std::fill_n(low.begin(), count, 0.0);
  std::fill_n(magnitude.begin(), count, 0.0);
}

void SumTile::add(const double* terms) {
  const auto count = static_cast<size_t>(columns);
  for (size_t c = 0; c < count; ++c) {
    const DoubleDouble sum = two_sum(high[c], terms[c]);
    high[c] = sum.high;
    low[c] += sum.low;
    magnitude[c] += std::fabs(terms[c]);
  }
}

void SumTile::add_products(const double* weights, const double* values) {
  const auto count = static_cast<size_t>(columns);
  for (size_t c = 0; c < count; ++c) {
    const double product = weights[c] * values[c];
    const DoubleDouble sum = two_sum(high[c], product);
    high[c] = sum.high;
    low[c] += sum.low;
    magnitude[c] += counted_magnitude(product);
  }
}

void SumTile::add(const SumTile& other) {
  const auto count = static_cast<size_t>(columns);
  for (size_t c = 0; c < count; ++c) {
    const DoubleDouble sum = two_sum(high[c], other.high[c]);
    high[c] = sum.high;
    low[c] += sum.low + other.low[c];
    magnitude[c] += other.magnitude[c];
  }
}

namespace {

// The chunks of one tile that threads compute at a time: their sums take up to 2 MB.
constexpr int64_t kChunksAtOnce = 64;

void sum_shared_tile(const SumsOfTiles& sums, int64_t tile, int threads) {
  const int64_t chunks = sums.chunks(tile), columns = sums.columns(tile);
  std::vector<SumTile> parts(static_cast<size_t>(std::min(chunks, kChunksAtOnce)));
  const auto total = std::make_unique<SumTile>();
  total->clear(columns);
  for (int64_t first = 0; first < chunks; first += kChunksAtOnce) {
    const int64_t count = std::min(kChunksAtOnce, chunks - first);
    for_each_range(count, 1, threads, [&](int64_t k, int64_t) {
      SumTile& part = parts[static_cast<size_t>(k)];
      part.clear(columns);
      sums.add_chunk(tile, first + k, part);
    });
    for (int64_t k = 0; k < count; ++k) total->add(parts[static_cast<size_t>(k)]);
  }
  sums.finish(tile, *total);
}

// Gives the same bits as sum_shared_tile().
void sum_tile(const SumsOfTiles& sums, int64_t tile, SumTile& total, SumTile& part) {
  const int64_t chunks = sums.chunks(tile), columns = sums.columns(tile);
  total.clear(columns);
  if (chunks == 1) {
    sums.add_chunk(tile, 0, total);
  } else {
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      part.clear(columns);
      sums.add_chunk(tile, chunk, part);
      total.add(part);
    }
  }
  sums.finish(tile, total);
}

}  // namespace

void sum_tiles(const SumsOfTiles& sums, int threads) {
  // A tile is shared if it is more than a sixteenth of the work, so there are at most 16 of them.
  int64_t all_chunks = 0;
  for (int64_t tile = 0; tile < sums.tiles; ++tile) all_chunks += sums.chunks(tile);
  const auto is_shared = [&](int64_t tile) {
    const int64_t chunks = sums.chunks(tile);
    return chunks > 1 && chunks > all_chunks / 16;
  };
  constexpr int64_t kRanges = 256;
  Ranges ranges(sums.tiles, std::max<int64_t>(sums.tiles / kRanges, 1));
  run_workers(threads, std::min(ranges.size(), all_chunks), [&] {
    const auto total = std::make_unique<SumTile>(), part = std::make_unique<SumTile>();
    for (int64_t tile = 0, end = 0; ranges.next(tile, end);) {
      for (; tile < end; ++tile) {
        if (!is_shared(tile)) sum_tile(sums, tile, *total, *part);
      }
    }
  });
  for (int64_t tile = 0; tile < sums.tiles; ++tile) {
    if (is_shared(tile)) sum_shared_tile(sums, tile, threads);
  }
}

}  // namespace openaclnn_verify
