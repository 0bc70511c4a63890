// NsaCompressGrad on the CPU: one walk over the tokens, in memory order, computes both gradients. A token meets the few windows
// that cover it: each adds its weighted row to the token's gradient, and its product with the token to a weight's gradient.
#include "cpu/float_types.h"
#include "cpu/lanes16.h"
#include "cpu/threads.h"
#include "cpu/views.h"
#include "cpu/workspace.h"
#include "cpu/zeros.h"
#include "ops/nsa_compress_grad/op.h"
#include "ops/nsa_windows_cpu.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

namespace {

// Columns of a head that are summed at once. Part of the order of additions of weightGrad: the products of a piece meet in
// 16 lanes, which are joined in fp32 (16 + 4 additions at most) and then added to the weight's sum in double.
constexpr int64_t kPieceColumns = 256;

// Windows that go through the columns together, so that the token's row is loaded once for all of them.
constexpr int kMostTogether = 4;

// The part of one window in one piece of a token's row.
template <class T>
struct Meeting {
  F32 weight;
  const T* output_grad;
  double* weight_sum;
};

// sums[c] = (is_first ? +0 : sums[c]) + weight * output_grad[c] for each of the meetings in turn; out gets the sums instead when
// they are complete. Each meeting's weight_sum gains the sum of output_grad[c] * token[c].
template <int kMeetings, class T>
void meet(const Meeting<T>* meetings, const T* token, int64_t columns, bool is_first, float* sums, T* out) {
  Lanes16 dots[kMeetings];
  const auto step = [&](const auto& load_lanes, const auto& store_sums, int64_t c) {
    const Lanes16 x = load_lanes(token + c);
    Lanes16 sum = is_first ? Lanes16() : load_lanes(sums + c);
    for (int m = 0; m < kMeetings; ++m) {
      const Lanes16 g = load_lanes(meetings[m].output_grad + c);
      sum = sum + meetings[m].weight * g;
      dots[m] = dots[m] + g * x;
    }
    store_sums(sum, c);
  };
  int64_t c = 0;
  for (; c + Lanes16::kLanes <= columns; c += Lanes16::kLanes) {
    step([](const auto* from) { return load16(from); },
         [&](const Lanes16& sum, int64_t at) {
           if (out != nullptr) {
             store16(sum, out + at);
           } else {
             store16(sum, sums + at);
           }
         },
         c);
  }
  if (const int64_t left = columns - c; left > 0) {
    step([left](const auto* from) { return load16_first(from, left); },
         [&](const Lanes16& sum, int64_t at) {
           if (out != nullptr) {
             store16_first(sum, out + at, left);
           } else {
             store16_first(sum, sums + at, left);
           }
         },
         c);
  }
  for (int m = 0; m < kMeetings; ++m) *meetings[m].weight_sum += static_cast<double>(sum_of_lanes(dots[m]));
}

template <class T>
void meet(int count, const Meeting<T>* meetings, const T* token, int64_t columns, bool is_first, float* sums,
          T* out) {
  switch (count) {
    case 1: return meet<1>(meetings, token, columns, is_first, sums, out);
    case 2: return meet<2>(meetings, token, columns, is_first, sums, out);
    case 3: return meet<3>(meetings, token, columns, is_first, sums, out);
    default: return meet<kMostTogether>(meetings, token, columns, is_first, sums, out);
  }
}

// The windows [first, last] that cover a token; none when last < first. Window `first` meets it with weight `weight`, each
// further one with a weight `stride` rows earlier.
struct Cover {
  int64_t first, last;
  int64_t weight;
};

Cover cover_of(const CompressionSizes& sizes, const Sequence* sequences, int64_t sequence, int64_t token) {
  if (sequence < 0) return {0, -1, 0};
  const Sequence& s = sequences[sequence];
  const int64_t position = token - s.first_token;
  const int64_t first = position < sizes.block_size ? 0 : (position - sizes.block_size) / sizes.stride + 1;
  const int64_t started = position / sizes.stride;
  const int64_t last = started < s.windows ? started : s.windows - 1;
  return {s.first_window + first, s.first_window + last, position - first * sizes.stride};
}

template <class T>
class CompressGradient {
 public:
  CompressGradient(const NsaCompressGradPlan& plan, const TaskIo& io)
      : plan_(plan),
        output_grad_(tensor<const T>(io, kOutputGrad)),
        input_(tensor<const T>(io, kGradInput)),
        input_grad_(tensor<T>(io, kInputGrad)),
        weight_grad_(tensor<T>(io, kWeightGrad)),
        weights_(workspace_part<float>(io, plan.weights)),
        weight_sums_(workspace_part<double>(io, plan.weight_sums)) {
    widen_weights(plan.sizes, tensor<const T>(io, kGradWeight), plan.weight_strides, weights_);
  }

  void run() {
    const CompressionSizes& sizes = plan_.sizes;
    const int64_t bytes =
        (2 * sizes.tokens + sizes.windows) * sizes.heads * sizes.columns * static_cast<int64_t>(sizeof(T));
    // When the stretches alone cannot keep all threads busy, the heads, which have nothing to do with each other, are split.
    const int64_t wanted = (cpu::chunks_for(bytes) + plan_.stretches - 1) / plan_.stretches;
    const int64_t parts = wanted < sizes.heads ? wanted : sizes.heads;
    cpu::parallel_for(plan_.stretches * parts, [&](int64_t item) {
      const int64_t stretch = item / parts;
      sum_stretch(stretch, cpu::chunk_range(sizes.tokens, plan_.stretches, stretch, 1),
                  cpu::chunk_range(sizes.heads, parts, item % parts, 1));
    });
    join_weight_sums();
  }

 private:
  template <class Element>
  Element* tensor(const TaskIo& io, NsaCompressGradParameter which) const {
    return static_cast<Element*>(io.data[which]) + plan_.offsets[which];
  }
  double* weight_sum(int64_t stretch, int64_t i, int64_t head) const {
    return weight_sums_ + (stretch * plan_.sizes.block_size + i) * plan_.sizes.heads + head;
  }

  void sum_stretch(int64_t stretch, cpu::Range tokens, cpu::Range heads) const {
    const CompressionSizes& sizes = plan_.sizes;
    for (int64_t i = 0; i < sizes.block_size; ++i) {
      std::memset(weight_sum(stretch, i, heads.begin), 0,
                  static_cast<size_t>(heads.end - heads.begin) * sizeof(double));
    }
    const Sequence* const sequences = plan_items<Sequence>(plan_);
    const auto first_token = [](const Sequence& s) { return s.first_token; };
    int64_t sequence = last_sequence_at(sequences, sizes.sequences, first_token, tokens.begin);
    for (int64_t token = tokens.begin; token < tokens.end; ++token) {
      if (sequence + 1 < sizes.sequences && sequences[sequence + 1].first_token == token) ++sequence;
      const Cover cover = cover_of(sizes, sequences, sequence, token);
      for (int64_t head = heads.begin; head < heads.end; ++head) {
        for (int64_t column = 0; column < sizes.columns; column += kPieceColumns) {
          const int64_t left = sizes.columns - column;
          sum_piece(stretch, token, cover, head, column, left < kPieceColumns ? left : kPieceColumns);
        }
      }
    }
  }

  void sum_piece(int64_t stretch, int64_t token, const Cover& cover, int64_t head, int64_t column,
                 int64_t columns) const {
    const HeadStrides in(plan_.input_strides), up(plan_.output_grad_strides), down(plan_.input_grad_strides);
    const auto at = [&](const HeadStrides& s, int64_t row) {
      return row * s.row + head * s.head + column * s.column;
    };
    T* const target = input_grad_ + at(down, token);
    T result_buffer[kPieceColumns];
    T* const result = scatter_target(target, down.column, result_buffer);
    if (cover.last < cover.first) {
      std::memset(static_cast<void*>(result), 0, static_cast<size_t>(columns) * sizeof(T));
      return scatter(result, target, down.column, columns);
    }
    T token_buffer[kPieceColumns];
    T grad_buffers[kMostTogether][kPieceColumns];
    float sums[kPieceColumns];
    const T* const x = gathered(input_ + at(in, token), in.column, columns, token_buffer);
    int64_t i = cover.weight;
    for (int64_t window = cover.first; window <= cover.last; window += kMostTogether) {
      const int64_t left = cover.last - window + 1;
      const int count = left < kMostTogether ? static_cast<int>(left) : kMostTogether;
      Meeting<T> meetings[kMostTogether];
      for (int m = 0; m < count; ++m, i -= plan_.sizes.stride) {
        meetings[m] = {F32(weights_[i * plan_.sizes.heads + head]),
                       gathered(output_grad_ + at(up, window + m), up.column, columns, grad_buffers[m]),
                       weight_sum(stretch, i, head)};
      }
      meet(count, meetings, x, columns, window == cover.first, sums,
           left <= kMostTogether ? result : nullptr);
    }
    scatter(result, target, down.column, columns);
  }

  void join_weight_sums() const {
    const CompressionSizes& sizes = plan_.sizes;
    const int64_t weights = sizes.block_size * sizes.heads;
    const int64_t chunks = cpu::chunks_for(weights * plan_.stretches * 8);
    cpu::parallel_for(chunks, [&](int64_t chunk) {
      const cpu::Range range = cpu::chunk_range(weights, chunks, chunk, 8);
      for (int64_t k = range.begin; k < range.end; ++k) {
        double total = 0;
        for (int64_t stretch = 0; stretch < plan_.stretches; ++stretch)
          total += weight_sums_[stretch * weights + k];
        T* const target = weight_grad_ + k / sizes.heads * plan_.weight_grad_strides[0] +
                          k % sizes.heads * plan_.weight_grad_strides[1];
        T rounded[F32::kLanes];
        store(F32(static_cast<float>(total)), rounded);
        *target = rounded[0];
      }
    });
  }

  const NsaCompressGradPlan& plan_;
  const T* const output_grad_;
  const T* const input_;
  T* const input_grad_;
  T* const weight_grad_;
  float* const weights_;
  double* const weight_sums_;
};

template <class T>
void run(const NsaCompressGradPlan& plan, const TaskIo& io) {
  if (!plan.only_zeros) return CompressGradient<T>(plan, io).run();
  const auto write = [&](const LoopNest<1>& nest, NsaCompressGradParameter which, bool is_empty) {
    if (!is_empty) write_zeros(nest, static_cast<T*>(io.data[which]) + plan.offsets[which]);
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
