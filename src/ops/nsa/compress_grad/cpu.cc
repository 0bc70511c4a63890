// NsaCompressGrad on the CPU: one pass over the tokens computes both gradients. Each of the few windows that
// cover a token adds its weighted row to the token's gradient. Its product with the token is added to a
// weight's gradient.
//
// The same windows cover a whole segment of tokens. Their rows are widened once for it and stay in L1.
#include <algorithm>
#include <utility>

#include "base/kernel_io.h"
#include "base/plan_tensor.h"
#include "base/storage_types.h"
#include "base/workspace_part.h"
#include "cpu/caches.h"
#include "cpu/rows.h"
#include "cpu/scratch.h"
#include "cpu/threads.h"
#include "cpu/views.h"
#include "cpu/zeros.h"
#include "ops/nsa/compress_grad/plan.h"
#include "ops/nsa/compress_grad/token_gradient_cpu.h"
#include "ops/nsa/compress_grad/weights_cpu.h"
#include "ops/nsa/windows_cpu.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

namespace {

// The distance in bytes to the token that is prefetched.
constexpr int64_t kTokenBytesAhead = 8192;

// The scratch memory of a thread. The rows of a segment's windows and the dots of some tokens stay in L1
// together.
struct alignas(64) SegmentScratch {
  static constexpr int64_t kColumns = 16 * kPieceColumns;
  static constexpr int64_t kDots = 64 * kTokensTogether;
  float output_grad[kColumns];      // [windows, heads, columns]
  float dots[kDots * F32::kLanes];  // [windows, tokens, heads, lanes]
  float dot_sums[kDots];            // [windows, tokens, heads]
  float partial[kPieceColumns];     // a token's gradient from the first windows
};

template <class T>
class CompressGradient {
 public:
  CompressGradient(const NsaCompressGradPlan& plan, const TaskIo& io)
      : plan_(plan),
        sizes_(plan.sizes),
        in_(plan.input_strides),
        up_(plan.output_grad_strides),
        down_(plan.input_grad_strides),
        output_grad_(tensor<const T>(io, kOutputGrad)),
        input_(tensor<const T>(io, kGradInput)),
        input_grad_(tensor<T>(io, kInputGrad)),
        weight_grad_(tensor<T>(io, kWeightGrad)),
        weights_(sizes_, workspace_part<float>(io, plan.weights)),
        weight_sums_(plan, workspace_part<double>(io, plan.weight_sums)),
        tokens_ahead_(rows_ahead<T>(sizes_.heads * sizes_.columns, kTokenBytesAhead)),
        most_windows_(
            std::min(SegmentScratch::kDots,
                     SegmentScratch::kColumns / widened_columns(std::min(sizes_.columns, kPieceColumns)))),
        is_dense_(in_.column == 1 && up_.column == 1 && down_.column == 1) {
    const int64_t row_bytes = sizes_.heads * sizes_.columns * static_cast<int64_t>(sizeof(T));
    streams_ = down_.column == 1 && is_line(input_grad_) && is_line_stride(down_.row) &&
               is_line_stride(down_.head) && is_line_stride(sizes_.columns) &&
               cpu::exceeds_caches(sizes_.tokens * row_bytes);
    weights_.widen(tensor<const T>(io, kGradWeight), plan.weight_strides);
  }

  void run() {
    const int64_t bytes = (2 * sizes_.tokens + sizes_.windows) * sizes_.heads * sizes_.columns *
                          static_cast<int64_t>(sizeof(T));
    // If the stretches alone cannot keep all threads busy, the heads, which are independent, are also
    // distributed.
    const int64_t wanted = (cpu::chunks_for(bytes) + plan_.stretches - 1) / plan_.stretches;
    const int64_t parts = std::min(wanted, sizes_.heads);
    cpu::parallel_for(plan_.stretches * parts, [&](int64_t item) {
      const int64_t stretch = item / parts;
      sum_stretch(stretch, cpu::chunk_range(sizes_.tokens, plan_.stretches, stretch, 1),
                  cpu::chunk_range(sizes_.heads, parts, item % parts, 1));
    });
    weight_sums_.write_totals(weight_grad_, plan_.weight_grad_strides);
  }

 private:
  static bool is_line(const T* address) {
    return reinterpret_cast<uintptr_t>(address) % kStreamAlignment == 0;
  }
  static bool is_line_stride(int64_t stride) {
    return stride * static_cast<int64_t>(sizeof(T)) % static_cast<int64_t>(kStreamAlignment) == 0;
  }

  template <class Element>
  Element* tensor(const TaskIo& io, NsaCompressGradParameter which) const {
    return plan_tensor<Element>(plan_, io, which);
  }

  // Consecutive tokens of a stretch that the same windows cover, and whose weights follow each other.
  struct Segment {
    int64_t stretch;
    cpu::Range tokens;
    Cover cover;         // of the first token
    int64_t last_token;  // of the stretch
    int64_t windows() const { return cover.last - cover.first + 1; }
  };

  void sum_stretch(int64_t stretch, cpu::Range tokens, cpu::Range heads) const {
    weight_sums_.clear(stretch, heads);
    const Sequence* const sequences = plan_items<Sequence>(plan_);
    const auto divide = [](int64_t a, int64_t b) { return a / b; };
    SegmentScratch& scratch = cpu::scratch_as<SegmentScratch>();
    int64_t sequence = sequence_at_token(sizes_, sequences, tokens.begin);
    Cover cover = cover_of(sizes_, sequences, sequence, tokens.begin, divide);
    for (int64_t token = tokens.begin; token < tokens.end;) {
      if (token == cover.until) {
        if (sequence + 1 < sizes_.sequences && sequences[sequence + 1].first_token == token) ++sequence;
        cover = cover_of(sizes_, sequences, sequence, token, divide);
      }
      int64_t end = std::min(cover.until, tokens.end);
      if (cover.first <= cover.last) end = token + std::min(end - token, weights_.tokens_from(cover.weight));
      sum_segment({stretch, {token, end}, cover, tokens.end - 1}, heads, scratch);
      cover.weight += end - token;
      token = end;
    }
    hwy::FlushStream();
  }

  void sum_segment(const Segment& segment, cpu::Range heads, SegmentScratch& scratch) const {
    const int64_t windows = segment.windows();
    for (int64_t column = 0; column < sizes_.columns; column += kPieceColumns) {
      const Tile tile = {heads.begin, heads.end - heads.begin, column,
                         std::min(sizes_.columns - column, kPieceColumns)};
      if (windows == 0) {
        write_zeros_to(segment, tile);
      } else if (!is_dense_ || windows > kMostTogether) {
        sum_any_windows(segment, tile, scratch);
      } else {
        with_grads(segment, tile, scratch, [&](const auto& grads) {
          switch (windows) {
            case 1: return sum_tile<1>(segment, tile, grads, scratch);
            case 2: return sum_tile<2>(segment, tile, grads, scratch);
            case 3: return sum_tile<3>(segment, tile, grads, scratch);
            default: return sum_tile<4>(segment, tile, grads, scratch);
          }
        });
      }
    }
  }

  // Rows of windows: [windows, heads, columns].
  template <class Grad>
  struct Grads {
    const Grad* first;
    int64_t row, head;  // elements
  };

  // Calls sum(Grads) with the rows of the segment's windows, widened if they fit into the scratch memory.
  template <class Sum>
  void with_grads(const Segment& segment, const Tile& tile, SegmentScratch& scratch, const Sum& sum) const {
    const auto in_place = [&] {
      return Grads<T>{output_grad_ + at(up_, segment.cover.first, tile), up_.row, up_.head};
    };
    if constexpr (std::is_same_v<T, float>) {
      sum(in_place());
    } else {
      const int64_t heads = tile.heads;
      const bool fit = segment.windows() * heads * widened_columns(tile.columns) <= SegmentScratch::kColumns;
      fit ? sum(widen(segment.cover.first, segment.windows(), tile, scratch)) : sum(in_place());
    }
  }

  // Returns the offset of the tile in a row.
  static int64_t at(const HeadStrides& s, int64_t row, const Tile& tile) {
    return row * s.row + tile.first_head * s.head + tile.first_column * s.column;
  }

  // The common case: contiguous columns, all windows together.
  template <int kWindows, class Grad>
  void sum_tile(const Segment& segment, const Tile& tile, const Grads<Grad>& grads,
                SegmentScratch& scratch) const {
    const auto sum = [&]<bool kStreams>() {
      using Gradients = TokenGradients<kWindows, T, Grad>;
      // Streams write whole lines, which are whole steps if a step is no longer than a line.
      constexpr bool kOnlyWhole = kStreams && Gradients::kStep * sizeof(T) <= kLineBytes;
      constexpr bool kHasVectors = F32::kLanes > 1;
      if (kOnlyWhole || (kHasVectors && tile.columns % Gradients::kStep == 0)) {
        sum_tile<kWindows, kStreams, kHasVectors>(segment, tile, grads, scratch);
      } else if constexpr (!kOnlyWhole) {
        sum_tile<kWindows, kStreams, false>(segment, tile, grads, scratch);
      }
    };
    kHasStreams&& streams_ ? sum.template operator()<kHasStreams>() : sum.template operator()<false>();
  }

  // Processes batches of tokens that have room for their dots (lanes of token * gradient, which become the
  // gradient of the weights). scratch.dots is [kWindows][tokens of the batch][heads][F32::kLanes], as
  // add_to_weight_sums() reads it: heads are F32::kLanes numbers apart, tokens token_dots, and windows dots_apart.
  template <int kWindows, bool kStreams, bool kWholeSteps, class Grad>
  HWY_NOINLINE void sum_tile(const Segment& segment, const Tile& tile, const Grads<Grad>& grads,
                             SegmentScratch& scratch) const {
    // Copies of members, which any store could change for all that the compiler knows.
    const HeadStrides in = in_, down = down_;
    const int64_t head_weights = weights_.of_head(), token_weights = weights_.of_token();
    const float* const weights = weights_.of(segment.cover.weight) + tile.first_head * head_weights;
    const int64_t tile_heads = tile.heads;
    const bool heads_follow =
        in.head == tile.columns && down.head == tile.columns && grads.head == tile.columns;
    constexpr int64_t kMostHeads = SegmentScratch::kDots / kWindows / kTokensTogether;
    const int64_t batch = kTokensTogether * std::max<int64_t>(1, kMostHeads / tile_heads);
    TokenGradients<kWindows, T, Grad> gradients;
    gradients.tokens_apart = in.row;
    gradients.out_apart = down.row;
    gradients.grads_apart = grads.row;
    gradients.token_weights = token_weights;
    gradients.head_weights = head_weights;
    const T* const input = input_ + at(in, segment.tokens.begin, tile);
    T* const input_grad = input_grad_ + at(down, segment.tokens.begin, tile);
    const int64_t ahead = tokens_ahead_, last = segment.last_token - segment.tokens.begin;
    const int64_t end = segment.tokens.end - segment.tokens.begin;
    for (int64_t token = 0, count; token < end; token += count) {
      count = std::min(batch, end - token);
      for (int64_t head = 0; head < tile_heads; head += kMostHeads) {
        const int64_t heads = std::min(tile_heads - head, kMostHeads);
        const int64_t together = heads_follow ? heads : 1;
        gradients.dots = scratch.dots;
        gradients.dots_apart = count * heads * F32::kLanes;
        gradients.token_dots = heads * F32::kLanes;
        for (int64_t k = token, tokens; k < token + count; k += tokens) {
          tokens = k + kTokensTogether <= token + count ? kTokensTogether : 1;
          gradients.tokens = input + k * in.row + head * in.head;
          gradients.ahead = std::min(ahead, last - (k + tokens - 1)) * in.row;
          gradients.out = input_grad + k * down.row + head * down.head;
          gradients.output_grad = grads.first + head * grads.head;
          gradients.weights = weights + k * token_weights + head * head_weights;
          for (int64_t n = 0; n < heads; n += together) {
            if (tokens == kTokensTogether) {
              gradients.template run<kTokensTogether, kStreams, kWholeSteps>(together, tile.columns);
            } else {
              gradients.template run<1, kStreams, kWholeSteps>(together, tile.columns);
            }
            gradients.tokens += in.head;
            gradients.out += down.head;
            gradients.output_grad += grads.head;
            gradients.weights += head_weights;
            gradients.dots += together * F32::kLanes;
          }
          gradients.dots += (tokens - 1) * gradients.token_dots;
        }
        const int64_t first_head = tile.first_head + head;
        add_to_weight_sums(segment, segment.cover.weight + token, kWindows, count,
                           {first_head, first_head + heads}, scratch);
      }
    }
  }

  // Any strides and any number of windows, head by head. If a head of all windows does not fit into the scratch
  // memory, their rows are widened for each token.
  void sum_any_windows(const Segment& segment, const Tile& tile, SegmentScratch& scratch) const {
    const int64_t windows = segment.windows();
    const int64_t together = std::min(windows, most_windows_);
    for (int64_t head = tile.first_head; head < tile.first_head + tile.heads; ++head) {
      const Tile part = {head, 1, tile.first_column, tile.columns};
      Grads<float> grads;
      if (together == windows) grads = widen(segment.cover.first, windows, part, scratch);
      for (int64_t token = segment.tokens.begin; token < segment.tokens.end; ++token) {
        for (int64_t first = 0; first < windows; first += together) {
          const int64_t count = std::min(together, windows - first);
          if (together < windows) grads = widen(segment.cover.first + first, count, part, scratch);
          sum_some_windows(segment, part, token, {first, first + count}, grads, scratch);
        }
      }
    }
  }

  // The windows [begin, end) of those that cover a token, in the one head of the tile.
  void sum_some_windows(const Segment& segment, const Tile& tile, int64_t token, cpu::Range windows,
                        const Grads<float>& grads, SegmentScratch& scratch) const {
    T token_buffer[kPieceColumns], out_buffer[kPieceColumns];
    const T* const x = gathered(input_ + at(in_, token, tile), in_.column, tile.columns, token_buffer);
    T* const to = input_grad_ + at(down_, token, tile);
    T* const out = scatter_target(to, down_.column, out_buffer);
    const int64_t k = token - segment.tokens.begin;
    const int64_t i = segment.cover.weight + k - windows.begin * sizes_.stride;
    const float* const weights =
        weights_.of(segment.cover.weight + k) + tile.first_head * weights_.of_head() + windows.begin;
    const int64_t count = windows.end - windows.begin;
    for (int64_t w = 0; w < count; w += kMostTogether) {
      const auto sum = [&]<int kWindows>() {
        TokenGradients<kWindows, T, float> gradient;
        gradient.tokens = x;
        gradient.out = out;
        gradient.output_grad = grads.first + w * grads.row;
        gradient.grads_apart = grads.row;
        gradient.weights = weights + w;
        gradient.dots = scratch.dots + w * F32::kLanes;
        gradient.dots_apart = F32::kLanes;
        gradient.run_some(tile.columns, scratch.partial, windows.begin + w == 0,
                          windows.begin + w + kWindows == segment.windows());
      };
      switch (count - w) {
        case 1: sum.template operator()<1>(); break;
        case 2: sum.template operator()<2>(); break;
        case 3: sum.template operator()<3>(); break;
        default: sum.template operator()<kMostTogether>(); break;
      }
    }
    add_to_weight_sums(segment, i, count, 1, {tile.first_head, tile.first_head + tile.heads}, scratch);
    if (windows.end == segment.windows()) scatter(out, to, down_.column, tile.columns);
  }

  Grads<float> widen(int64_t first, int64_t count, const Tile& tile, SegmentScratch& scratch) const {
    const T* const from = output_grad_ + at(up_, first, tile);
    const int64_t heads = tile.heads;
    const int64_t each = widened_columns(tile.columns);
    float* to = scratch.output_grad;
    for (int64_t w = 0; w < count; ++w) {
      for (int64_t head = 0; head < heads; ++head, to += each)
        widen_grads(from + w * up_.row + head * up_.head, up_.column, tile.columns, to);
    }
    return {scratch.output_grad, heads * each, each};
  }

  // Sums the dots of consecutive tokens, [windows, tokens, heads, lanes], and adds them to the sums of the weights.
  void add_to_weight_sums(const Segment& segment, int64_t i, int64_t windows, int64_t tokens,
                          cpu::Range heads, SegmentScratch& scratch) const {
    sums_of_folded(scratch.dots, windows * tokens * (heads.end - heads.begin), scratch.dot_sums);
    weight_sums_.add(segment.stretch, i, windows, tokens, heads, scratch.dot_sums);
  }

  void write_zeros_to(const Segment& segment, const Tile& tile) const {
    T* const first = input_grad_ + at(down_, segment.tokens.begin, tile);
    const bool is_dense = down_.column == 1;
    int64_t tokens = segment.tokens.end - segment.tokens.begin, heads = tile.heads, columns = tile.columns;
    if (is_dense && (heads == 1 || down_.head == columns)) columns *= std::exchange(heads, 1);
    if (is_dense && heads == 1 && down_.row == columns) columns *= std::exchange(tokens, 1);
    for (int64_t token = 0; token < tokens; ++token) {
      for (int64_t head = 0; head < heads; ++head) {
        T* const out = first + token * down_.row + head * down_.head;
        if (is_dense) {
          write_zero_bytes(out, columns * static_cast<int64_t>(sizeof(T)), streams_);
        } else {
          for (int64_t c = 0; c < columns; ++c) out[c * down_.column] = T();
        }
      }
    }
  }

  const NsaCompressGradPlan& plan_;
  const CompressionSizes& sizes_;
  const HeadStrides in_, up_, down_;
  const T* const output_grad_;
  const T* const input_;
  T* const input_grad_;
  T* const weight_grad_;
  const WindowWeights weights_;
  const WeightSums weight_sums_;
  const int64_t tokens_ahead_;
  const int64_t most_windows_;  // of which a piece of a head fits into the scratch memory
  const bool is_dense_;         // whether the columns of all tensors are contiguous
  bool streams_;                // whether inputGrad uses non-temporal stores, in whole lines
};

template <class T>
void run(const NsaCompressGradPlan& plan, const TaskIo& io) {
  if (!plan.only_zeros) return CompressGradient<T>(plan, io).run();
  const auto write = [&](const LoopNest<1>& nest, NsaCompressGradParameter which, bool is_empty) {
    if (!is_empty) write_zeros(nest, plan_tensor<T>(plan, io, which));
  };
  const CompressionSizes& sizes = plan.sizes;
  write(plan.input_grad_nest, kInputGrad, sizes.tokens == 0 || sizes.heads == 0 || sizes.columns == 0);
  write(plan.weight_grad_nest, kWeightGrad, sizes.heads == 0);
}

}  // namespace

Fault run_nsa_compress_grad(const void* opaque_plan, const TaskIo& io) {
  const auto& plan = *static_cast<const NsaCompressGradPlan*>(opaque_plan);
  with_float_type(plan.dtype, [&](auto type) { run<decltype(type)>(plan, io); });
  return {};
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
