// The exact gradient of the weights: one number for each row and head, summed over all windows and columns.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "ops/nsa/compress_grad/verify/oracle.h"
#include "verify/golden/arguments.h"
#include "verify/golden/row_sums.h"

namespace openaclnn_verify {

struct CompressGradTensors {
  const Array &output_grad, &input, &weight;
  std::vector<int64_t> starts;  // of the windows
};

// The exact dot product of two rows, in lanes that the compiler can compute side by side.
class ExactDot {
 public:
  void add(const double* one, const double* other, int64_t count) {
    int64_t e = 0;
    for (; e + kLanes <= count; e += kLanes) {
      for (size_t lane = 0; lane < kLanes; ++lane)
        add_to(lane, one[e + static_cast<int64_t>(lane)] * other[e + static_cast<int64_t>(lane)]);
    }
    for (size_t lane = 0; e < count; ++e, ++lane) add_to(lane, one[e] * other[e]);
  }
  // Adds the lanes in order.
  void add_to_column(SumTile& tile, size_t column) const {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const DoubleDouble sum = two_sum(tile.high[column], high_[lane]);
      tile.high[column] = sum.high;
      tile.low[column] += sum.low + low_[lane];
      tile.magnitude[column] += magnitude_[lane];
    }
  }

 private:
  static constexpr int64_t kLanes = 8;

  void add_to(size_t lane, double product) {
    const DoubleDouble sum = two_sum(high_[lane], product);
    high_[lane] = sum.high;
    low_[lane] += sum.low;
    magnitude_[lane] += counted_magnitude(product);
  }

  std::array<double, kLanes> high_ = {}, low_ = {}, magnitude_ = {};
};

// A tile has some rows of the weights and some of their heads. A chunk is some windows.
class WeightGradTiles {
 public:
  explicit WeightGradTiles(const CompressGradTensors& tensors)
      : tensors_(tensors),
        heads_(tensors.weight.dims[1]),
        columns_(tensors.input.dims[2]),
        rows_(tensors.weight.dims[0]),
        heads_of_tile_(std::min(heads_, kTileColumns)),
        rows_of_tile_(std::min(rows_, kTileColumns / heads_of_tile_)),
        tiles_across_((heads_ + heads_of_tile_ - 1) / heads_of_tile_) {}

  int64_t tiles() const { return (rows_ + rows_of_tile_ - 1) / rows_of_tile_ * tiles_across_; }
  int64_t columns(int64_t tile) const { return rows(tile) * heads(tile); }
  int64_t chunks() const {
    const auto windows = static_cast<int64_t>(tensors_.starts.size());
    return std::max<int64_t>((windows + windows_of_chunk() - 1) / windows_of_chunk(), 1);
  }
  int64_t element(int64_t tile, int64_t column) const {
    return (first_row(tile) + column / heads(tile)) * heads_ + first_head(tile) + column % heads(tile);
  }

  void add_chunk(int64_t tile, int64_t chunk, SumTile& to) const {
    const auto windows = static_cast<int64_t>(tensors_.starts.size());
    const int64_t end = std::min(windows, (chunk + 1) * windows_of_chunk());
    for (int64_t window = chunk * windows_of_chunk(); window < end; ++window) add_window(tile, window, to);
  }

 private:
  static constexpr int64_t kWidened = 4096;

  int64_t first_row(int64_t tile) const { return tile / tiles_across_ * rows_of_tile_; }
  int64_t first_head(int64_t tile) const { return tile % tiles_across_ * heads_of_tile_; }
  int64_t rows(int64_t tile) const { return std::min(rows_of_tile_, rows_ - first_row(tile)); }
  int64_t heads(int64_t tile) const { return std::min(heads_of_tile_, heads_ - first_head(tile)); }
  int64_t windows_of_chunk() const {
    const int64_t products = rows_of_tile_ * heads_of_tile_ * columns_;
    return std::max<int64_t>((int64_t{1} << 18) / std::max<int64_t>(products, 1), 1);
  }

  // Reads several narrow heads at a time, and wide heads in pieces.
  void add_window(int64_t tile, int64_t window, SumTile& to) const {
    const int64_t heads_at_once = std::max<int64_t>(kWidened / columns_, 1);
    const int64_t piece = std::min(columns_, kWidened);
    for (int64_t head = 0; head < heads(tile); head += heads_at_once) {
      const int64_t count = std::min(heads_at_once, heads(tile) - head);
      for (int64_t column = 0; column < columns_; column += piece)
        add_piece(tile, window, head, count, column, std::min(piece, columns_ - column), to);
    }
  }

  void add_piece(int64_t tile, int64_t window, int64_t head, int64_t count, int64_t column, int64_t width,
                 SumTile& to) const {
    std::array<double, kWidened> grads, tokens;
    const auto elements = static_cast<size_t>(count * width);
    const int64_t at = (first_head(tile) + head) * columns_ + column, row_elements = heads_ * columns_;
    tensors_.output_grad.widen(window * row_elements + at, std::span(grads).first(elements));
    const int64_t first_token = tensors_.starts[static_cast<size_t>(window)] + first_row(tile);
    for (int64_t row = 0; row < rows(tile); ++row) {
      tensors_.input.widen((first_token + row) * row_elements + at, std::span(tokens).first(elements));
      for (int64_t k = 0; k < count; ++k) {
        ExactDot dot;
        dot.add(grads.data() + k * width, tokens.data() + k * width, width);
        dot.add_to_column(to, static_cast<size_t>(row * heads(tile) + head + k));
      }
    }
  }

  const CompressGradTensors& tensors_;
  const int64_t heads_, columns_, rows_, heads_of_tile_, rows_of_tile_, tiles_across_;
};

inline GoldenOutput weight_grad_golden(const GoldenCall& call, const CompressGradTensors& tensors) {
  GoldenOutput output = new_output("weightGradOut", {tensors.weight.dtype, tensors.weight.dims, nullptr});
  if (tensors.output_grad.numel() == 0 || output.exact.empty()) return output;
  const WeightGradTiles tiles(tensors);
  SumsOfTiles sums;
  sums.tiles = tiles.tiles();
  sums.columns = [&](int64_t tile) { return tiles.columns(tile); };
  sums.chunks = [&](int64_t) { return tiles.chunks(); };
  sums.add_chunk = [&](int64_t tile, int64_t chunk, SumTile& to) { tiles.add_chunk(tile, chunk, to); };
  sums.finish = [&](int64_t tile, const SumTile& done) {
    for (int64_t column = 0; column < done.columns; ++column) {
      const auto at = static_cast<size_t>(tiles.element(tile, column));
      output.exact[at] = done.sum(column).high;
      output.bound[at] = error_bound(kWeightGradRoundings, done.magnitude[static_cast<size_t>(column)]);
    }
  };
  sum_tiles(sums, call.threads);
  return output;
}

}  // namespace openaclnn_verify
