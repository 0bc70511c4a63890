// The scenarios of the operators: both phases of each, once and again with an executor that is kept, small and large enough for
// several threads.
#include <array>
#include <memory>

#include "aclnnop/aclnn_apply_adam_w.h"
#include "aclnnop/aclnn_apply_adam_w_v2.h"
#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "aclnnop/aclnn_embedding.h"
#include "aclnnop/aclnn_embedding_dense_backward.h"
#include "aclnnop/aclnn_grouped_bias_add_grad.h"
#include "aclnnop/aclnn_nsa_compress.h"
#include "aclnnop/aclnn_nsa_compress_grad.h"
#include "aclnnop/aclnn_nsa_compress_with_cache.h"
#include "failures/attempt.h"
#include "openaclnn/apply_fused_ema_adam_list.h"
#include "ops/nsa/verify/windows.h"
#include "support/verify.h"
#include "verify/number.h"
#include "verify/random.h"
#include "verify/runner.h"
#include "verify/tensor_list.h"

namespace failures {
namespace {

using namespace openaclnn_test;

constexpr int kNoMemory = 207001, kNoMetaMemory = 561101, kNotQueued = 361001;

using Phase1 = std::function<int(uint64_t* workspace_bytes, aclOpExecutor** executor)>;

// A call whose arguments are made beforehand: memory that only tests need must not fail.
class Prepared {
 public:
  explicit Prepared(aclDataType dtype) : dtype_(dtype) {}

  aclTensor* tensor(const Shape& dims) { return add(dtype_, dims, -8, 1); }
  aclTensor* result(const Shape& dims) {
    outputs_.push_back(tensors_.size());
    return add(dtype_, dims, -8, 1);
  }
  aclTensor* whole(aclDataType dtype, const std::vector<int64_t>& values) {
    aclTensor* const made = add(dtype, {static_cast<int64_t>(values.size())}, 0, 1);
    for (size_t k = 0; k < values.size(); ++k)
      tensors_.back().set(static_cast<int64_t>(k), static_cast<double>(values[k]));
    return made;
  }
  aclTensor* random_whole(const Shape& dims, int64_t limit, aclDataType dtype = ACL_INT64) {
    aclTensor* const made = add(dtype, dims, 0, 1);
    for (int64_t k = 0; k < tensors_.back().numel(); ++k)
      tensors_.back().set(k, static_cast<double>(random_.below(limit)));
    return made;
  }
  aclTensorList* list(const std::vector<aclTensor*>& tensors) { return lists_.emplace_back(tensors).get(); }
  const aclIntArray* lengths(const std::vector<int64_t>& lengths) {
    arrays_.push_back(std::make_unique<LengthArray>(WindowAttributes{.lengths = lengths, .length_type = 1}));
    return arrays_.back()->get();
  }
  void call(Phase1 phase1, Phase2 phase2) {
    phase1_ = std::move(phase1);
    phase2_ = phase2;
  }

  // Both phases `rounds` times; with `keep` one executor serves them all, and gets its first address anew in between.
  void run(Attempt& a, aclrtStream stream, int rounds, bool keep) {
    uint64_t workspace_bytes = 0;
    aclOpExecutor* executor = nullptr;
    const auto phase1 = [&] { return phase1_(&workspace_bytes, &executor); };
    void* workspace = nullptr;
    for (int round = 0; round < rounds; ++round) {
      if (round == 0 || !keep) a.step("phase 1", {kNoMetaMemory}, phase1);
      if (round == 0 && keep) {
        a.step("aclSetAclOpExecutorRepeatable", {kNoMetaMemory},
               [&] { return aclSetAclOpExecutorRepeatable(executor); });
      }
      if (workspace == nullptr && workspace_bytes > 0) {
        a.step("aclrtMalloc", {kNoMemory},
               [&] { return aclrtMalloc(&workspace, workspace_bytes, ACL_MEM_MALLOC_HUGE_FIRST); });
      }
      if (keep) set_addresses(a, executor);
      const auto launch = [&] { return phase2_(workspace, workspace_bytes, executor, stream); };
      // A phase 2 that failed has consumed its executor.
      a.step("phase 2", {kNotQueued, kNoMemory}, launch, [&] {
        const int planned = keep ? 0 : phase1();
        return planned != 0 ? planned : launch();
      });
    }
    a.step("aclrtSynchronizeStream", {kNoMemory}, [&] { return aclrtSynchronizeStream(stream); });
    for (const size_t k : outputs_) {
      const std::vector<std::byte> bytes = tensors_[k].all_bytes();
      a.result(bytes.data(), bytes.size());
    }
    if (keep) a.always("aclDestroyAclOpExecutor", [&] { return aclDestroyAclOpExecutor(executor); });
    if (workspace != nullptr) a.always("aclrtFree", [&] { return aclrtFree(workspace); });
  }

 private:
  aclTensor* add(aclDataType dtype, const Shape& dims, int low, int high) {
    HostTensor& made = tensors_.emplace_back(dtype, dims, Layout::contiguous, Placement::library);
    constexpr size_t kPeriod = 61;  // encoding is slow
    std::array<uint64_t, kPeriod> bits;
    for (uint64_t& b : bits) b = encode(dtype, random_.magnitude(low, high));
    for (int64_t k = 0; k < made.numel(); ++k) made.set_bits(k, bits[static_cast<size_t>(k) % kPeriod]);
    return handles_.emplace_back(made.describe()).get();
  }
  void set_addresses(Attempt& a, aclOpExecutor* executor) {
    if (lists_.empty()) {
      a.step("aclSetTensorAddr", {kNoMetaMemory},
             [&] { return aclSetTensorAddr(executor, 0, handles_[0].get(), tensors_[0].data()); });
      return;
    }
    for (size_t k = 0; k < lists_[0].size(); ++k) {
      a.step("aclSetDynamicTensorAddr", {kNoMetaMemory}, [&] {
        return aclSetDynamicTensorAddr(executor, 0, k, lists_[0].get(), tensors_[5 * k].data());
      });
    }
  }

  aclDataType dtype_;
  Random random_{7};
  std::vector<HostTensor> tensors_;
  std::vector<Descriptor> handles_;
  std::vector<TensorList> lists_;
  std::vector<std::unique_ptr<LengthArray>> arrays_;
  std::vector<size_t> outputs_;
  Phase1 phase1_;
  Phase2 phase2_ = nullptr;
};

// ---- the operators; `size` is 1 for a task that runs at once, and more for one that threads share ----

void adam_w(Prepared& p, int64_t size) {
  const Shape dims = {size * 300};
  aclTensor* const refs[] = {p.result(dims), p.result(dims), p.result(dims)};
  std::vector<aclTensor*> numbers;
  for (int k = 0; k < 7; ++k) numbers.push_back(p.tensor({1}));
  aclTensor *const grad = p.tensor(dims), *const maximum = p.tensor(dims);
  p.call(
      [=, var = refs[0], m = refs[1], v = refs[2]](uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnApplyAdamWGetWorkspaceSize(var, m, v, numbers[0], numbers[1], numbers[2], numbers[3],
                                               numbers[4], numbers[5], numbers[6], grad, maximum, true, false,
                                               bytes, executor);
      },
      aclnnApplyAdamW);
}

void adam_w_v2(Prepared& p, int64_t size) {
  const Shape dims = {size * 300};
  aclTensor* const refs[] = {p.result(dims), p.result(dims), p.result(dims)};
  aclTensor *const grad = p.tensor(dims), *const step = p.whole(ACL_INT64, {3});
  p.call(
      [=, var = refs[0], m = refs[1], v = refs[2]](uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnApplyAdamWV2GetWorkspaceSize(var, m, v, nullptr, grad, step, .01f, .9f, .999f, .1f, 1e-8f,
                                                 false, true, bytes, executor);
      },
      aclnnApplyAdamWV2);
}

void ema_adam(Prepared& p, int64_t size) {
  const Shape dims = {size * 300};
  aclTensor* const t[] = {p.tensor(dims), p.result(dims), p.result(dims), p.result(dims), p.result(dims)};
  aclTensor* const step = p.whole(ACL_INT64, {3});
  p.call(
      [=, t0 = t[0], t1 = t[1], t2 = t[2], t3 = t[3], t4 = t[4]](uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnApplyFusedEmaAdamGetWorkspaceSize(t0, t1, t2, t3, t4, step, .01, .99, .9, .999, 1e-8, 1,
                                                      true, .1, bytes, executor);
      },
      aclnnApplyFusedEmaAdam);
}

void ema_adam_list(Prepared& p, int64_t size) {
  std::vector<std::vector<aclTensor*>> columns(5);
  for (int64_t n = 0; n < 3 + size / 3; ++n) {
    for (size_t k = 0; k < 5; ++k)
      columns[k].push_back(k == 0 ? p.tensor({150 * n + 7}) : p.result({150 * n + 7}));
  }
  std::vector<aclTensorList*> lists;
  for (const std::vector<aclTensor*>& column : columns) lists.push_back(p.list(column));
  aclTensor* const step = p.whole(ACL_INT64, {3});
  p.call(
      [=](uint64_t* bytes, aclOpExecutor** executor) {
        return openaclnnApplyFusedEmaAdamListGetWorkspaceSize(
            lists[0], lists[1], lists[2], lists[3], lists[4], nullptr, step, nullptr, nullptr, .01, .99, .9,
            .999, 1e-8, 0, true, .1, bytes, executor);
      },
      openaclnnApplyFusedEmaAdamList);
}

void embedding(Prepared& p, int64_t size) {
  aclTensor* const table = p.tensor({40, 50});
  aclTensor* const indices = p.random_whole({size, 5}, 40);
  aclTensor* const out = p.result({size, 5, 50});
  p.call(
      [=](uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnEmbeddingGetWorkspaceSize(table, indices, out, bytes, executor);
      },
      aclnnEmbedding);
}

void embedding_backward(Prepared& p, int64_t size) {
  aclTensor* const grad = p.tensor({size * 5, 50});
  aclTensor* const indices = p.random_whole({size * 5}, 40);
  aclTensor* const out = p.result({40, 50});
  p.call(
      [=](uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnEmbeddingDenseBackwardGetWorkspaceSize(grad, indices, 40, 7, true, out, bytes, executor);
      },
      aclnnEmbeddingDenseBackward);
}

void bias_equal_groups(Prepared& p, int64_t size) {
  aclTensor* const grad = p.tensor({4, 10 * size, 30});
  aclTensor* const out = p.result({4, 30});
  p.call(
      [=](uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnGroupedBiasAddGradGetWorkspaceSize(grad, nullptr, out, bytes, executor);
      },
      aclnnGroupedBiasAddGrad);
}

void bias_groups(Prepared& p, int64_t size) {
  aclTensor* const grad = p.tensor({40 * size, 30});
  aclTensor* const groups = p.whole(ACL_INT64, {5 * size, 5 * size, 40 * size});
  aclTensor* const out = p.result({3, 30});
  p.call(
      [=](uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnGroupedBiasAddGradV2GetWorkspaceSize(grad, groups, 0, out, bytes, executor);
      },
      aclnnGroupedBiasAddGradV2);
}

void compress(Prepared& p, int64_t size) {
  const int64_t tokens = 40 * size;
  aclTensor* const input = p.tensor({tokens + 8, 2, 17});
  aclTensor* const weight = p.tensor({8, 2});
  aclTensor* const out = p.result({tokens / 4 - 1 + 1, 2, 17});
  const aclIntArray* const lengths = p.lengths({tokens, 8});
  p.call(
      [=](uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnNsaCompressGetWorkspaceSize(input, weight, lengths, nullptr, 8, 4, 1, out, bytes,
                                                executor);
      },
      aclnnNsaCompress);
}

void compress_grad(Prepared& p, int64_t size) {
  const int64_t tokens = 40 * size;
  aclTensor* const output_grad = p.tensor({tokens / 4 - 1 + 1, 2, 17});
  aclTensor* const input = p.tensor({tokens + 8, 2, 17});
  aclTensor* const weight = p.tensor({8, 2});
  aclTensor* const input_grad = p.result({tokens + 8, 2, 17});
  aclTensor* const weight_grad = p.result({8, 2});
  const aclIntArray* const lengths = p.lengths({tokens, 8});
  p.call(
      [=](uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnNsaCompressGradGetWorkspaceSize(output_grad, input, weight, lengths, 8, 4, 1, nullptr,
                                                    input_grad, weight_grad, bytes, executor);
      },
      aclnnNsaCompressGrad);
}

void compress_with_cache(Prepared& p, int64_t size) {
  aclTensor* const input = p.tensor({20, 5, 2, 17});
  aclTensor* const weight = p.tensor({8, 2});
  aclTensor* const slots = p.random_whole({size}, 9, ACL_INT32);
  aclTensor* const table = p.random_whole({size, 4}, 20, ACL_INT32);
  aclTensor* const cache = p.result({9, 2, 17});
  const aclIntArray* const lengths = p.lengths(std::vector<int64_t>(static_cast<size_t>(size), 16));
  p.call(
      [=](uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnNsaCompressWithCacheGetWorkspaceSize(input, weight, slots, lengths, table, nullptr, 8, 4,
                                                         1, 5, cache, bytes, executor);
      },
      aclnnNsaCompressWithCache);
}

struct Operator {
  const char* name;
  void (*prepare)(Prepared&, int64_t size);
};
constexpr Operator kOperators[] = {{"ApplyAdamW", adam_w},
                                   {"ApplyAdamWV2", adam_w_v2},
                                   {"ApplyFusedEmaAdam", ema_adam},
                                   {"ApplyFusedEmaAdamList", ema_adam_list},
                                   {"Embedding", embedding},
                                   {"EmbeddingDenseBackward", embedding_backward},
                                   {"GroupedBiasAddGrad", bias_equal_groups},
                                   {"GroupedBiasAddGradV2", bias_groups},
                                   {"NsaCompress", compress},
                                   {"NsaCompressGrad", compress_grad},
                                   {"NsaCompressWithCache", compress_with_cache}};

}  // namespace

std::vector<Scenario> operator_scenarios() {
  struct Setting {
    const char *threads, *check;
  };
  constexpr Setting kSettings[] = {{"1", "report"}, {"3", "report"}, {"2", "strict"}, {"3", "silent"}};
  std::vector<Scenario> all;
  for (const Operator& op : kOperators) {
    for (const aclDataType dtype : {ACL_FLOAT, ACL_BF16}) {
      for (const Setting& setting : kSettings) {
        for (const int64_t size : {1, 30}) {
          for (const bool keep : {false, true}) {
            const std::string name = std::string(op.name) + ", " + dtype_name(dtype) + ", " +
                                     (size == 1 ? "small" : "large") + (keep ? ", kept executor, " : ", ") +
                                     setting.threads + " threads, " + setting.check;
            all.push_back({name,
                           {{"OPENACLNN_NUM_THREADS", setting.threads}, {"OPENACLNN_CHECK", setting.check}},
                           [op, dtype, size, keep](Attempt& a) {
                             a.undisturbed("aclrtSetDevice", [] { return aclrtSetDevice(0); });
                             {
                               Prepared prepared(dtype);
                               op.prepare(prepared, size);
                               aclrtStream stream = nullptr;
                               a.undisturbed("aclrtCreateStream", [&] { return aclrtCreateStream(&stream); });
                               prepared.run(a, stream, 3, keep);
                               a.always("aclrtDestroyStream", [&] { return aclrtDestroyStream(stream); });
                             }
                             a.undisturbed("aclrtResetDevice", [] { return aclrtResetDevice(0); });
                           }});
          }
        }
      }
    }
  }
  return all;
}

}  // namespace failures
