// NsaCompressGrad on the CPU: one pass over the tokens in memory order computes both gradients. Each of the
// few windows that cover a token adds its weighted row to the token's gradient. Its product with the token is
// added to a weight's gradient.
#include <algorithm>

#include "base/plan_tensor.h"
#include "base/storage_types.h"
#include "base/workspace_part.h"
#include "cpu/caches.h"
#include "cpu/lanes16.h"
#include "cpu/rows.h"
#include "cpu/threads.h"
#include "cpu/views.h"
#include "cpu/zeros.h"
#include "ops/kernels.h"
#include "ops/nsa/compress_grad/plan.h"
#include "ops/nsa/windows_cpu.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

namespace {

// Columns of a head that are summed together. They are part of the order of additions of weightGrad. The
// products of a piece are added in 16 lanes, which are added in fp32 (16 + 4 additions at most). That sum is
// added to the weight's sum in double.
constexpr int64_t kPieceColumns = 256;

// The distance in bytes to the token that is prefetched.
constexpr int64_t kTokenBytesAhead = 8192;

// Windows processed together, so that the token's row is loaded once for all of them.
constexpr int kMostTogether = 4;

// Adds the contributions of kWindows windows to a piece of a token's gradient, and their products with the
// token to the weights' gradients.
template <int kWindows, class T>
struct TokenGradient {
  F32 weight[kWindows];
  const T* output_grad[kWindows];
  double* weight_sum[kWindows];
  const T* token;
  const T* ahead;  // a later token's row, to be prefetched
  T* out;
  bool streams;            // whether to use non-temporal stores for out
  float* sums;             // sums of previous windows, and the output if more windows follow
  bool is_first, is_last;  // whether these are the first and the last windows

  // Processes 16 columns from `c` on: adds weight * output_grad of each window in turn to the sums, and
  // output_grad * token to the windows' dots.
  template <class Load>
  HWY_INLINE Lanes16 add(int64_t c, const Load& load_lanes, Lanes16 sum, Lanes16 (&dots)[kWindows]) const {
    const Lanes16 x = load_lanes(token + c);
#pragma GCC unroll 8
    for (int w = 0; w < kWindows; ++w) {
      const Lanes16 g = load_lanes(output_grad[w] + c);
      sum = multiply_add(weight[w], g, sum);
      dots[w] = multiply_add(g, x, dots[w]);
    }
    return sum;
  }

  // Processes 2 * 16 columns per step, for the common case that these are all the windows of the token.
  template <class Store>
  HWY_INLINE int64_t add_all(int64_t columns, const Store& store_sums, Lanes16 (&dots)[kWindows]) const {
    constexpr int64_t kStep = 2 * Lanes16::kLanes;
    const auto load_lanes = [](const T* from) { return load<Lanes16>(from); };
    int64_t c = 0;
    for (; c + kStep <= columns; c += kStep) {
      fetch<Lanes16>(ahead + c);
      fetch<Lanes16>(ahead + c + Lanes16::kLanes);
      const Lanes16 lower = add(c, load_lanes, Lanes16(), dots);
      const Lanes16 upper = add(c + Lanes16::kLanes, load_lanes, Lanes16(), dots);
      store_sums(lower, upper, out + c);
    }
    return c;
  }

  // Inlined, so that pointers and weights stay in registers.
  static HWY_INLINE void run(const TokenGradient& gradient, int64_t columns) {
    Lanes16 dots[kWindows];
    int64_t c = 0;
    if (gradient.is_first && gradient.is_last) {
      c = kHasStreams && gradient.streams
              ? gradient.add_all(
                    columns, [](const Lanes16& a, const Lanes16& b, T* to) { stream(a, b, to); }, dots)
              : gradient.add_all(
                    columns, [](const Lanes16& a, const Lanes16& b, T* to) { store(a, b, to); }, dots);
    }
    for (; c < columns; c += Lanes16::kLanes) {
      const int64_t count = std::min(columns - c, Lanes16::kLanes);
      const auto load_lanes = [count](const auto* from) { return load_first<Lanes16>(from, count); };
      const Lanes16 before = gradient.is_first ? Lanes16() : load_lanes(gradient.sums + c);
      const Lanes16 sum = gradient.add(c, load_lanes, before, dots);
      if (gradient.is_last) {
        store_first(sum, gradient.out + c, count);
      } else {
        store_first(sum, gradient.sums + c, count);
      }
    }
    float sums_of_dots[kWindows];
    sums_of_lanes(dots, sums_of_dots);
#pragma GCC unroll 8
    for (int w = 0; w < kWindows; ++w) *gradient.weight_sum[w] += static_cast<double>(sums_of_dots[w]);
  }
};

template <class T>
class CompressGradient {
 public:
  CompressGradient(const NsaCompressGradPlan& plan, const TaskIo& io)
      : plan_(plan),
        in_(plan.input_strides),
        up_(plan.output_grad_strides),
        down_(plan.input_grad_strides),
        output_grad_(tensor<const T>(io, kOutputGrad)),
        input_(tensor<const T>(io, kGradInput)),
        input_grad_(tensor<T>(io, kInputGrad)),
        weight_grad_(tensor<T>(io, kWeightGrad)),
        weights_(workspace_part<float>(io, plan.weights)),
        weight_sums_(workspace_part<double>(io, plan.weight_sums)) {
    const int64_t row_bytes = plan.sizes.heads * plan.sizes.columns * static_cast<int64_t>(sizeof(T));
    tokens_ahead_ = rows_ahead<T>(plan.sizes.heads * plan.sizes.columns, kTokenBytesAhead);
    is_dense_ = in_.column == 1 && up_.column == 1 && down_.column == 1;
    streams_ = down_.column == 1 && is_line(input_grad_) && is_line_stride(down_.row) &&
               is_line_stride(down_.head) && is_line_stride(plan.sizes.columns) &&
               cpu::exceeds_caches(plan.sizes.tokens * row_bytes);
    widen_weights(plan.sizes.block_size, plan.sizes.heads, tensor<const T>(io, kGradWeight),
                  plan.weight_strides, weights_);
  }

  void run() {
    const CompressionSizes& sizes = plan_.sizes;
    const int64_t bytes =
        (2 * sizes.tokens + sizes.windows) * sizes.heads * sizes.columns * static_cast<int64_t>(sizeof(T));
    // If the stretches alone cannot keep all threads busy, the heads, which are independent, are also
    // distributed.
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
    const auto divide = [](int64_t a, int64_t b) { return a / b; };
    int64_t sequence = sequence_at_token(sizes, sequences, tokens.begin);
    Cover cover = cover_of(sizes, sequences, sequence, tokens.begin, divide);
    for (int64_t token = tokens.begin; token < tokens.end; ++token, ++cover.weight) {
      if (token == cover.until) {
        if (sequence + 1 < sizes.sequences && sequences[sequence + 1].first_token == token) ++sequence;
        cover = cover_of(sizes, sequences, sequence, token, divide);
      }
      sum_row({stretch, token, std::min(token + tokens_ahead_, tokens.end - 1)}, cover, heads);
    }
    hwy::FlushStream();
  }

  // The position of a token's row.
  struct Row {
    int64_t stretch, token;
    int64_t ahead;  // the token to prefetch
  };

  void sum_row(const Row& row, const Cover& cover, cpu::Range heads) const {
    const int64_t columns = plan_.sizes.columns;
    if (is_dense_ && columns <= kPieceColumns) {
      switch (cover.last - cover.first) {
        case 0: return sum_heads<1>(row, cover, heads);
        case 1: return sum_heads<2>(row, cover, heads);
        case 2: return sum_heads<3>(row, cover, heads);
        case 3: return sum_heads<4>(row, cover, heads);
        default: break;
      }
    }
    for (int64_t head = heads.begin; head < heads.end; ++head) {
      for (int64_t column = 0; column < columns; column += kPieceColumns)
        sum_piece(row, cover, head, {column, std::min(column + kPieceColumns, columns)});
    }
  }

  // The common case: contiguous columns, one piece per head, all windows together.
  template <int kWindows>
  void sum_heads(const Row& row, const Cover& cover, cpu::Range heads) const {
    const CompressionSizes& sizes = plan_.sizes;
    const auto at = [&](const HeadStrides& s, int64_t index) { return index * s.row + heads.begin * s.head; };
    TokenGradient<kWindows, T> gradient;
    gradient.token = input_ + at(in_, row.token);
    gradient.ahead = input_ + at(in_, row.ahead);
    gradient.out = input_grad_ + at(down_, row.token);
    gradient.sums = nullptr;
    gradient.is_first = gradient.is_last = true;
    gradient.streams = streams_;
    const float* weights[kWindows];
#pragma GCC unroll 4
    for (int w = 0; w < kWindows; ++w) {
      const int64_t i = cover.weight - w * sizes.stride;
      weights[w] = weights_ + i * sizes.heads + heads.begin;
      gradient.output_grad[w] = output_grad_ + at(up_, cover.first + w);
      gradient.weight_sum[w] = weight_sum(row.stretch, i, heads.begin);
    }
    for (int64_t head = heads.begin; head < heads.end; ++head) {
#pragma GCC unroll 4
      for (int w = 0; w < kWindows; ++w) gradient.weight[w] = F32(*weights[w]++);
      TokenGradient<kWindows, T>::run(gradient, sizes.columns);
      gradient.token += in_.head;
      gradient.ahead += in_.head;
      gradient.out += down_.head;
#pragma GCC unroll 4
      for (int w = 0; w < kWindows; ++w) {
        gradient.output_grad[w] += up_.head;
        ++gradient.weight_sum[w];
      }
    }
  }

  void sum_piece(const Row& row, const Cover& cover, int64_t head, cpu::Range columns) const {
    const int64_t width = columns.end - columns.begin;
    const auto at = [&](const HeadStrides& s, int64_t index) {
      return index * s.row + head * s.head + columns.begin * s.column;
    };
    T* const target = input_grad_ + at(down_, row.token);
    T result_buffer[kPieceColumns];
    T* const result = scatter_target(target, down_.column, result_buffer);
    if (cover.last < cover.first) {
      std::memset(static_cast<void*>(result), 0, static_cast<size_t>(width) * sizeof(T));
      return scatter(result, target, down_.column, width);
    }
    T token_buffer[kPieceColumns];
    T grad_buffers[kMostTogether][kPieceColumns];
    float sums[kPieceColumns];
    int64_t i = cover.weight;
    const auto meet = [&]<int kWindows>(int64_t window) {
      TokenGradient<kWindows, T> gradient;
      gradient.token = gathered(input_ + at(in_, row.token), in_.column, width, token_buffer);
      gradient.ahead = in_.column == 1 ? input_ + at(in_, row.ahead) : gradient.token;
      gradient.sums = sums;
      gradient.out = result;
      gradient.is_first = window == cover.first;
      gradient.is_last = window + kWindows > cover.last;
      gradient.streams = streams_;
      for (int w = 0; w < kWindows; ++w, i -= plan_.sizes.stride) {
        gradient.weight[w] = F32(weights_[i * plan_.sizes.heads + head]);
        gradient.output_grad[w] =
            gathered(output_grad_ + at(up_, window + w), up_.column, width, grad_buffers[w]);
        gradient.weight_sum[w] = weight_sum(row.stretch, i, head);
      }
      TokenGradient<kWindows, T>::run(gradient, width);
    };
    for (int64_t window = cover.first; window <= cover.last; window += kMostTogether) {
      switch (cover.last - window) {
        case 0: meet.template operator()<1>(window); break;
        case 1: meet.template operator()<2>(window); break;
        case 2: meet.template operator()<3>(window); break;
        default: meet.template operator()<kMostTogether>(window); break;
      }
    }
    scatter(result, target, down_.column, width);
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
  const HeadStrides in_, up_, down_;
  const T* const output_grad_;
  const T* const input_;
  T* const input_grad_;
  T* const weight_grad_;
  float* const weights_;
  double* const weight_sums_;
  int64_t tokens_ahead_;
  bool is_dense_;  // whether the columns of all tensors are contiguous
  bool streams_;   // whether inputGrad uses non-temporal stores, in whole lines
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
