// The operators a second time: directly from their formulas, in double, one element after the
// other. Independent of the library on purpose, because it decides whether the library kept its
// promised error bounds.
#pragma once

#include <cstdint>
#include <span>

#include "sequences.h"

namespace train {

// A storage format. All values below are widened exactly to float.
struct NumberFormat {
  int precision;
  int min_exponent;
  double largest;
};
inline constexpr NumberFormat kFloatFormat{24, -126, 0x1.fffffep127};
inline constexpr NumberFormat kHalfFormat{11, -14, 65504};
inline constexpr NumberFormat kBf16Format{8, -126, 0x1.fep127};

// The distance of results from the reference. Merging two keeps the worse of each.
struct Deviation {
  // Largest |result - reference| as a fraction of the promised bound; above 1 the promise is broken.
  double of_promise = 0;
  // Largest |result - reference| in units of the last place of S, the sum of the magnitudes of the
  // terms. Units of the result itself would mean nothing: if terms cancel, the result's last place
  // may be arbitrarily small.
  double ulp = 0;
  // Elements compared; those that had to have the reference's exact bits; and those of them that did not:
  // one is enough to break the promise.
  int64_t elements = 0;
  int64_t bitwise = 0;
  int64_t wrong_bits = 0;

  bool kept() const { return of_promise <= 1 && wrong_bits == 0; }
  void merge(const Deviation& other);
};

// The attributes of aclnnApplyFusedEmaAdam and the value of `step`.
struct EmaAdamAttributes {
  double lr;
  double ema_decay;
  double beta1;
  double beta2;
  double eps;
  int64_t mode;  // 0: weight decay is added to the gradient (L2), 1: to the update (AdamW)
  bool bias_correction;
  double weight_decay;
};

// The four tensors that aclnnApplyFusedEmaAdam updates, as stored before or after the call.
struct EmaAdamTensors {
  std::span<const float> var, m, v, s;
};

struct EmaAdamDeviation {
  Deviation m, v, var, s;
};

// Elements without a promised bound (a product of the formula left the normal range) must have the
// bits of a scalar fp32 evaluation in the prescribed order instead.
EmaAdamDeviation check_ema_adam(std::span<const float> grad, const EmaAdamTensors& before, int64_t step,
                                const EmaAdamAttributes& attributes, const EmaAdamTensors& after,
                                NumberFormat format);

// weight [V, D], indices [N], out [N, D]: every row must be a bit copy.
Deviation check_embedding(std::span<const float> weight, std::span<const int32_t> indices,
                          std::span<const float> out, int64_t row_elements);

// grad [N, D], indices [N], out [V, D], without padding row and scaling.
Deviation check_embedding_dense_backward(std::span<const float> grad, std::span<const int32_t> indices,
                                         std::span<const float> out, int64_t row_elements,
                                         NumberFormat format);

// grad [R, H], ends [G], out [G, H]
Deviation check_grouped_bias_add_grad(std::span<const float> grad, std::span<const int64_t> ends,
                                      std::span<const float> out, NumberFormat format);

// The arguments of the compression operators besides the data: input [rows, heads, width], weight
// [blocks.length, heads], output [number of blocks, heads, width].
struct CompressionShape {
  int64_t heads, width;
  Sequences sequences;
  Blocks blocks;
};

Deviation check_nsa_compress(std::span<const float> input, std::span<const float> weight,
                             const CompressionShape& shape, std::span<const float> out, NumberFormat format);

struct NsaCompressGradDeviation {
  Deviation input, weight;
};

NsaCompressGradDeviation check_nsa_compress_grad(std::span<const float> out_grad,
                                                 std::span<const float> input, std::span<const float> weight,
                                                 const CompressionShape& shape,
                                                 std::span<const float> input_grad,
                                                 std::span<const float> weight_grad, NumberFormat format);

}  // namespace train
