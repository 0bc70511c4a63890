// NsaCompress on the CPU: every window is the sum of its weighted rows in the library's order of additions, for as many heads
// at a time as the accumulators have columns.
#include "cpu/float_types.h"
#include "cpu/rows.h"
#include "cpu/threads.h"
#include "cpu/views.h"
#include "cpu/workspace.h"
#include "ops/nsa_compress/op.h"
#include "ops/nsa_windows_cpu.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

namespace {

// accumulator[c] = accumulator[c] + weight * row[c], or +0 + weight * row[c] for the first row of a window.
template <class T>
void add_weighted_row(float* accumulator, const T* row, int64_t columns, F32 weight, bool first) {
  int64_t c = 0;
  for (; c + F32::kLanes <= columns; c += F32::kLanes) {
    const F32 sum = first ? F32(0.0f) : load(accumulator + c);
    hn::StoreU((sum + weight * load(row + c)).raw, F32::Tag(), accumulator + c);
  }
  if (const int64_t left = columns - c; left > 0) {
    const F32 sum = first ? F32(0.0f) : load_first(accumulator + c, left);
    store_first(sum + weight * load_first(row + c, left), accumulator + c, left);
  }
}

// What one pass over the tokens of a window covers: whole heads, or a part of one head that is wider than the accumulators.
struct Tile {
  int64_t first_head, heads;
  int64_t first_column, columns;
  int64_t width() const { return heads * columns; }
};

struct Tiles {
  explicit Tiles(const CompressionSizes& all)
      : sizes(all),
        heads_each(all.columns < kTileColumns ? kTileColumns / all.columns : 1),
        pieces((all.columns + kTileColumns - 1) / kTileColumns),
        count((all.heads + heads_each - 1) / heads_each * pieces) {}

  Tile operator[](int64_t index) const {
    const int64_t head = index / pieces * heads_each;
    const int64_t column = index % pieces * kTileColumns;
    const int64_t columns_left = sizes.columns - column;
    return {head, sizes.heads - head < heads_each ? sizes.heads - head : heads_each, column,
            columns_left < kTileColumns ? columns_left : kTileColumns};
  }

  const CompressionSizes& sizes;
  int64_t heads_each;  // of a tile
  int64_t pieces;      // of a head
  int64_t count;
};

template <class T>
void compress_window(const NsaCompressPlan& plan, const Tile& tile, const T* tokens, const float* weights,
                     T* output, RowAccumulators& accumulators) {
  const HeadStrides in(plan.input_strides);
  const HeadStrides out(plan.output_strides);
  T buffer[kTileColumns];
  const auto add = [&](float* window, int64_t i, bool first) {
    for (int64_t h = 0; h < tile.heads; ++h) {
      const T* const row = tokens + i * in.row + h * in.head;
      add_weighted_row(window + h * tile.columns, gathered(row, in.column, tile.columns, buffer),
                       tile.columns, F32(weights[i * plan.sizes.heads + h]), first);
    }
  };
  const bool is_dense = out.column == 1 && (tile.heads == 1 || out.head == tile.columns);
  T result[kTileColumns];
  sum_terms(plan.sizes.block_size, add, tile.width(), accumulators, F32(1.0f), is_dense ? output : result);
  if (is_dense) return;
  for (int64_t h = 0; h < tile.heads; ++h) {
    for (int64_t c = 0; c < tile.columns; ++c)
      output[h * out.head + c * out.column] = result[h * tile.columns + c];
  }
}

template <class T>
void run(const NsaCompressPlan& plan, const TaskIo& io) {
  const CompressionSizes& sizes = plan.sizes;
  const T* const input = static_cast<const T*>(io.data[kCompressInput]) + plan.offsets[kCompressInput];
  T* const output = static_cast<T*>(io.data[kCompressOutput]) + plan.offsets[kCompressOutput];
  float* const weights = workspace_part<float>(io, plan.weights);
  widen_weights(sizes, static_cast<const T*>(io.data[kCompressWeight]) + plan.offsets[kCompressWeight],
                plan.weight_strides, weights);
  const HeadStrides in(plan.input_strides);
  const HeadStrides out(plan.output_strides);
  const Sequence* const sequences = plan_items<Sequence>(plan);
  const Tiles tiles(sizes);
  const int64_t rows_read =
      sizes.stride < sizes.block_size ? sizes.stride : sizes.block_size;  // anew, per window
  const int64_t bytes =
      sizes.windows * (rows_read + 1) * sizes.heads * sizes.columns * static_cast<int64_t>(sizeof(T));
  const int64_t chunks = cpu::chunks_for(bytes);
  cpu::parallel_for(chunks, [&](int64_t chunk) {
    const cpu::Range items = cpu::chunk_range(sizes.windows * tiles.count, chunks, chunk, 1);
    RowAccumulators accumulators;
    for (int64_t item = items.begin; item < items.end; ++item) {
      const int64_t window = item / tiles.count;
      const Tile tile = tiles[item % tiles.count];
      const auto first_window = [](const Sequence& sequence) { return sequence.first_window; };
      const Sequence& sequence =
          sequences[last_sequence_at(sequences, sizes.sequences, first_window, window)];
      const int64_t token = sequence.first_token + (window - sequence.first_window) * sizes.stride;
      compress_window(plan, tile,
                      input + token * in.row + tile.first_head * in.head + tile.first_column * in.column,
                      weights + tile.first_head,
                      output + window * out.row + tile.first_head * out.head + tile.first_column * out.column,
                      accumulators);
    }
  });
}

}  // namespace

Fault run_nsa_compress(const void* opaque_plan, const TaskIo& io) {
  const auto& plan = *static_cast<const NsaCompressPlan*>(opaque_plan);
  with_float_type(plan.dtype, [&](auto type) { run<decltype(type)>(plan, io); });
  return {};
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
