// Reads rows in stretches of neighbours, widens them, and adds them to tiles.
#include "verify/golden/row_sums.h"

#include <algorithm>
#include <array>

#include "verify/golden/arguments.h"

namespace openaclnn_verify {

namespace {

constexpr size_t kTermsAtOnce = 256;
constexpr int64_t kWidened = 4096;  // elements of neighbouring rows

class Adder {
 public:
  Adder(const RowSums& sums, int64_t first_column, SumTile& tile)
      : sums_(sums), first_column_(first_column), tile_(tile) {}

  void add(std::span<const RowTerm> terms) {
    while (!terms.empty()) {
      const size_t count = neighbours(terms);
      add_neighbours(terms.first(count));
      terms = terms.subspan(count);
    }
  }

 private:
  // Returns the number of rows that are one stretch of memory, because narrow rows are slow one by one.
  size_t neighbours(std::span<const RowTerm> terms) const {
    if (tile_.columns != sums_.columns) return 1;
    const auto most = std::min(terms.size(), static_cast<size_t>(kWidened / tile_.columns));
    size_t count = 1;
    while (count < most && terms[count].row == terms[count - 1].row + 1) ++count;
    return count;
  }

  void add_neighbours(std::span<const RowTerm> terms) {
    const auto columns = static_cast<size_t>(tile_.columns);
    sums_.values->widen(terms[0].row * sums_.columns + first_column_,
                        std::span(values_).first(terms.size() * columns));
    const double* row = values_.data();
    for (const RowTerm& term : terms) {
      if (sums_.weights == nullptr) {
        tile_.add(row);
      } else {
        widen_weights(term.weight_row);
        tile_.add_products(weights_.data(), row);
      }
      row += columns;
    }
  }

  // Repeats the weight of each head for its columns in the tile.
  void widen_weights(int64_t weight_row) {
    const int64_t columns_of_head = sums_.columns / sums_.heads;
    const int64_t end = first_column_ + tile_.columns;
    const int64_t first_head = first_column_ / columns_of_head, last_head = (end - 1) / columns_of_head;
    const auto heads = static_cast<size_t>(last_head - first_head + 1);
    sums_.weights->widen(weight_row * sums_.heads + first_head, std::span(heads_).first(heads));
    for (size_t k = 0; k < heads; ++k) {
      const int64_t begin_of_head = (first_head + static_cast<int64_t>(k)) * columns_of_head;
      const int64_t begin = std::max(begin_of_head, first_column_) - first_column_;
      const int64_t stop = std::min(begin_of_head + columns_of_head, end) - first_column_;
      std::fill(weights_.begin() + begin, weights_.begin() + stop, heads_[k]);
    }
  }

  const RowSums& sums_;
  const int64_t first_column_;
  SumTile& tile_;
  std::array<double, kWidened> values_;
  std::array<double, kTileColumns> weights_, heads_;
};

}  // namespace

void sum_rows(const RowSums& sums, int threads) {
  if (sums.columns == 0) return;
  const int64_t tiles_of_row = (sums.columns + kTileColumns - 1) / kTileColumns;
  const auto columns = [&](int64_t tile) {
    return std::min(kTileColumns, sums.columns - tile % tiles_of_row * kTileColumns);
  };
  SumsOfTiles tiles;
  tiles.tiles = sums.groups * tiles_of_row;
  tiles.columns = columns;
  tiles.chunks = [&](int64_t tile) {
    const int64_t at_once = terms_of_chunk(columns(tile));
    return std::max<int64_t>((sums.count(tile / tiles_of_row) + at_once - 1) / at_once, 1);
  };
  tiles.add_chunk = [&](int64_t tile, int64_t chunk, SumTile& to) {
    const int64_t group = tile / tiles_of_row, at_once = terms_of_chunk(columns(tile));
    const int64_t end = std::min(sums.count(group), (chunk + 1) * at_once);
    Adder adder(sums, tile % tiles_of_row * kTileColumns, to);
    std::array<RowTerm, kTermsAtOnce> terms;
    for (int64_t first = chunk * at_once; first < end; first += static_cast<int64_t>(kTermsAtOnce)) {
      const auto count = static_cast<size_t>(std::min<int64_t>(end - first, kTermsAtOnce));
      sums.terms(group, first, std::span(terms).first(count));
      adder.add(std::span<const RowTerm>(terms).first(count));
    }
  };
  tiles.finish = [&](int64_t tile, const SumTile& done) {
    sums.finish(tile / tiles_of_row, tile % tiles_of_row * kTileColumns, done);
  };
  sum_tiles(tiles, threads);
}

void write_sums(const SumTile& tile, double c, GoldenOutput& output, int64_t first) {
  for (int64_t column = 0; column < tile.columns; ++column) {
    const auto at = static_cast<size_t>(first + column);
    const double exact = tile.sum(column).high;
    output.exact[at] = exact;
    output.bound[at] = error_bound(c, tile.magnitude[static_cast<size_t>(column)]);
  }
}

}  // namespace openaclnn_verify
