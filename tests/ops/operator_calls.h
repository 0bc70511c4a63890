// Every operator as a function of tensors, for tests that compare several calls or operators. Each call
// must succeed.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "aclnnop/aclnn_apply_adam_w.h"
#include "aclnnop/aclnn_apply_adam_w_v2.h"
#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "aclnnop/aclnn_embedding.h"
#include "aclnnop/aclnn_embedding_dense_backward.h"
#include "aclnnop/aclnn_grouped_bias_add_grad.h"
#include "aclnnop/aclnn_nsa_compress.h"
#include "aclnnop/aclnn_nsa_compress_grad.h"
#include "aclnnop/aclnn_nsa_compress_with_cache.h"
#include "base/window_count.h"
#include "openaclnn/apply_fused_ema_adam_list.h"
#include "ops/nsa/verify/windows.h"
#include "support/expect.h"
#include "support/verify.h"
#include "verify/draw.h"
#include "verify/host_tensor.h"
#include "verify/random.h"
#include "verify/runner.h"
#include "verify/tensor_list.h"

namespace openaclnn_test::calls {

using Tensors = std::vector<const HostTensor*>;

inline void run(const Tensors& tensors, const Phase1& phase1, Phase2 phase2) {
  EXPECT_TRUE(succeeded(run_operator(tensors, phase1, phase2)));
}

// ---- the operators ----

struct EmaSettings {
  double lr = .01, ema_decay = .99, beta1 = .9, beta2 = .999, eps = 1e-8;
  int64_t mode = 1;
  bool bias_correction = true;
  double weight_decay = .1;
};

// tensors: grad, var, m, v, s, step.
inline void ema_adam(const Tensors& tensors, const EmaSettings& a) {
  run(
      tensors,
      [&](Handles t, uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnApplyFusedEmaAdamGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], a.lr, a.ema_decay,
                                                      a.beta1, a.beta2, a.eps, a.mode, a.bias_correction,
                                                      a.weight_decay, bytes, executor);
      },
      aclnnApplyFusedEmaAdam);
}

// tensors: var, m, v, grad, step.
inline void adam_w(const Tensors& tensors, float weight_decay = .125f, bool maximize = false) {
  run(
      tensors,
      [&](Handles t, uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnApplyAdamWV2GetWorkspaceSize(t[0], t[1], t[2], nullptr, t[3], t[4], .5f, .5f, .5f,
                                                 weight_decay, 0x1p-20f, false, maximize, bytes, executor);
      },
      aclnnApplyAdamWV2);
}
// The first version; amsgrad writes its maximum to v. tensors: var, m, v, the seven numbers,
// grad, maximum.
inline void adam_w_of_tensors(const Tensors& tensors, bool amsgrad) {
  run(
      tensors,
      [&](Handles t, uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnApplyAdamWGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9],
                                               t[10], t[11], amsgrad, false, bytes, executor);
      },
      aclnnApplyAdamW);
}

// tensors: grad, var, m, v, s of each index, index by index.
inline void ema_adam_list(const std::vector<HostTensor>& tensors, const HostTensor& step,
                          const EmaSettings& a) {
  Tensors pointers;
  for (size_t k = 0; k < 5; ++k) {
    for (size_t n = k; n < tensors.size(); n += 5) pointers.push_back(&tensors[n]);
  }
  pointers.push_back(&step);
  run(
      pointers,
      [&](Handles t, uint64_t* bytes, aclOpExecutor** executor) {
        const size_t length = tensors.size() / 5;
        std::vector<TensorList> lists;
        for (size_t k = 0; k < 5; ++k) lists.emplace_back(t.subspan(k * length, length));
        return openaclnnApplyFusedEmaAdamListGetWorkspaceSize(
            lists[0].get(), lists[1].get(), lists[2].get(), lists[3].get(), lists[4].get(), nullptr, t.back(),
            nullptr, nullptr, a.lr, a.ema_decay, a.beta1, a.beta2, a.eps, a.mode, a.bias_correction,
            a.weight_decay, bytes, executor);
      },
      openaclnnApplyFusedEmaAdamList);
}

inline void embedding_into(const HostTensor& weight, const HostTensor& indices, const HostTensor& out) {
  run(
      {&weight, &indices, &out},
      [](Handles t, uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnEmbeddingGetWorkspaceSize(t[0], t[1], t[2], bytes, executor);
      },
      aclnnEmbedding);
}
inline HostTensor embedding(const HostTensor& weight, const HostTensor& indices) {
  Shape dims = indices.dims();
  dims.push_back(weight.dims()[1]);
  HostTensor out(weight.dtype(), dims);
  embedding_into(weight, indices, out);
  return out;
}

inline void embedding_backward_into(const HostTensor& grad, const HostTensor& indices, int64_t rows,
                                    const HostTensor& out, bool scale = false,
                                    uint64_t padding_row = ~uint64_t{0}) {
  run(
      {&grad, &indices, &out},
      [&](Handles t, uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnEmbeddingDenseBackwardGetWorkspaceSize(t[0], t[1], static_cast<uint64_t>(rows),
                                                           padding_row, scale, t[2], bytes, executor);
      },
      aclnnEmbeddingDenseBackward);
}
inline HostTensor embedding_backward(const HostTensor& grad, const HostTensor& indices, int64_t rows,
                                     bool scale = false) {
  HostTensor out(grad.dtype(), {rows, grad.dims().back()});
  embedding_backward_into(grad, indices, rows, out, scale);
  return out;
}

// sizes: rows of each group.
inline void bias_grad_into(const HostTensor& grad, const std::vector<int64_t>& sizes, const HostTensor& out) {
  HostTensor groups(ACL_INT64, {static_cast<int64_t>(sizes.size())});
  for (size_t k = 0; k < sizes.size(); ++k)
    groups.set_bits(static_cast<int64_t>(k), static_cast<uint64_t>(sizes[k]));
  run(
      {&grad, &groups, &out},
      [](Handles t, uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnGroupedBiasAddGradV2GetWorkspaceSize(t[0], t[1], 1, t[2], bytes, executor);
      },
      aclnnGroupedBiasAddGradV2);
}
inline HostTensor bias_grad(const HostTensor& grad, const std::vector<int64_t>& sizes) {
  HostTensor out(grad.dtype(), {static_cast<int64_t>(sizes.size()), grad.dims()[1]});
  bias_grad_into(grad, sizes, out);
  return out;
}

// The split of tokens into windows: sequences of these lengths, blocks of `block` tokens every `step`
// tokens.
struct Windows {
  std::vector<int64_t> lengths;
  int64_t block = 1, step = 1;

  int64_t of(int64_t length) const { return openaclnn::count_windows(length, {block, step}); }
  int64_t count() const {
    int64_t total = 0;
    for (const int64_t length : lengths) total += of(length);
    return total;
  }
  int64_t tokens() const { return std::accumulate(lengths.begin(), lengths.end(), int64_t{0}); }
};

inline HostTensor nsa_compress(const HostTensor& input, const HostTensor& weight, const Windows& w) {
  HostTensor out(input.dtype(), {w.count(), input.dims()[1], input.dims()[2]});
  const LengthArray lengths({.lengths = w.lengths, .length_type = 1});
  run(
      {&input, &weight, &out},
      [&](Handles t, uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnNsaCompressGetWorkspaceSize(t[0], t[1], lengths.get(), nullptr, w.block, w.step, 1, t[2],
                                                bytes, executor);
      },
      aclnnNsaCompress);
  return out;
}

inline void nsa_compress_grad_into(const HostTensor& output_grad, const HostTensor& input,
                                   const HostTensor& weight, const Windows& w, const HostTensor& input_grad,
                                   const HostTensor& weight_grad) {
  const LengthArray lengths({.lengths = w.lengths, .length_type = 1});
  run(
      {&output_grad, &input, &weight, &input_grad, &weight_grad},
      [&](Handles t, uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnNsaCompressGradGetWorkspaceSize(t[0], t[1], t[2], lengths.get(), w.block, w.step, 1,
                                                    nullptr, t[3], t[4], bytes, executor);
      },
      aclnnNsaCompressGrad);
}
struct NsaGradients {
  HostTensor input, weight;
};
inline NsaGradients nsa_compress_grad(const HostTensor& output_grad, const HostTensor& input,
                                      const HostTensor& weight, const Windows& w) {
  NsaGradients out = {HostTensor(input.dtype(), input.dims()), HostTensor(weight.dtype(), weight.dims())};
  nsa_compress_grad_into(output_grad, input, weight, w, out.input, out.weight);
  return out;
}

// Updates `cache`. input: with pages for a table of rank 2; without a table (nullptr) the sequences of `w`
// one after the other.
inline void nsa_compress_with_cache(const HostTensor& input, const HostTensor& weight,
                                    const HostTensor& slots, const HostTensor* table, const Windows& w,
                                    const HostTensor& cache) {
  const LengthArray lengths({.lengths = w.lengths, .length_type = 1});
  const int64_t page_tokens = table != nullptr ? input.dims()[1] : 0;
  run(
      {&input, &weight, &slots, table, &cache},
      [&](Handles t, uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnNsaCompressWithCacheGetWorkspaceSize(t[0], t[1], t[2], lengths.get(), t[3], nullptr,
                                                         w.block, w.step, 1, page_tokens, t[4], bytes,
                                                         executor);
      },
      aclnnNsaCompressWithCache);
}

// ---- their data ----

// Returns a small number, or sometimes a large one if the draw permits it.
inline int64_t many(Draw& draw, int64_t few, int64_t large) {
  return draw.is_thorough() && draw.chance(4) ? large : few;
}

inline aclDataType any_dtype(Draw& draw) { return draw.pick(kFloatDtypes); }

inline HostTensor random_tensor(Random& random, aclDataType dtype, const Shape& dims, int low = -8,
                                int high = 3) {
  HostTensor tensor(dtype, dims);
  for (int64_t i = 0; i < tensor.numel(); ++i) tensor.set(i, random.signed_magnitude(low, high));
  return tensor;
}

inline HostTensor random_indices(Random& random, int64_t count, int64_t limit) {
  HostTensor tensor(ACL_INT64, {count});
  for (int64_t i = 0; i < count; ++i) tensor.set_bits(i, static_cast<uint64_t>(random.below(limit)));
  return tensor;
}

// Applies change(value) to every element.
template <class Change>
HostTensor map(const HostTensor& tensor, const Change& change) {
  HostTensor made(tensor.dtype(), tensor.dims());
  for (int64_t i = 0; i < made.numel(); ++i) made.set(i, change(tensor.get(i)));
  return made;
}

// Returns the slices `picks` along dim `dim`, in that order.
inline HostTensor gather(const HostTensor& tensor, size_t dim, const std::vector<int64_t>& picks) {
  Shape dims = tensor.dims();
  const int64_t extent = dims[dim];
  dims[dim] = static_cast<int64_t>(picks.size());
  HostTensor made(tensor.dtype(), dims);
  int64_t inner = 1;
  for (size_t k = dim + 1; k < dims.size(); ++k) inner *= dims[k];
  for (int64_t i = 0; i < made.numel(); ++i) {
    const int64_t slice = i / inner % dims[dim];
    const int64_t outer = i / (inner * dims[dim]);
    made.set_bits(i, tensor.bits((outer * extent + picks[static_cast<size_t>(slice)]) * inner + i % inner));
  }
  return made;
}

inline std::vector<int64_t> random_order(Random& random, int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  for (size_t k = order.size(); k > 1; --k) {
    std::swap(order[k - 1], order[static_cast<size_t>(random.below(static_cast<int64_t>(k)))]);
  }
  return order;
}

// Returns the numbers of the elements of the chosen parts of consecutive parts with these sizes.
inline std::vector<int64_t> members(const std::vector<int64_t>& sizes, const std::vector<int64_t>& parts) {
  std::vector<int64_t> numbers;
  for (const int64_t part : parts) {
    const int64_t first = std::accumulate(sizes.begin(), sizes.begin() + part, int64_t{0});
    for (int64_t i = 0; i < sizes[static_cast<size_t>(part)]; ++i) numbers.push_back(first + i);
  }
  return numbers;
}

inline std::vector<int64_t> choose(const std::vector<int64_t>& values, const std::vector<int64_t>& picks) {
  std::vector<int64_t> chosen;
  for (const int64_t pick : picks) chosen.push_back(values[static_cast<size_t>(pick)]);
  return chosen;
}

}  // namespace openaclnn_test::calls
