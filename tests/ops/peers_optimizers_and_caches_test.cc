// Calls that crashed or gave NaN in other libraries' fused optimizers, lists of tensors and paged caches,
// with published reports.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/attempt.h"

namespace openaclnn_test::calls {
namespace {

HostTensor filled(const Shape& dims, std::initializer_list<double> values) {
  HostTensor tensor(ACL_FLOAT, dims);
  tensor.fill(values);
  return tensor;
}

HostTensor count_of(int64_t value) {
  HostTensor step(ACL_INT64, {1});
  step.set(0, static_cast<double>(value));
  return step;
}

// ---- steps with nothing to divide by: a rate of 0 over moments of 0 was 0/-0 (pytorch 126514) ----

struct Moments {
  HostTensor var = filled({2}, {3, -4}), m = filled({2}, {0, 0}), v = filled({2}, {0, 0});
  HostTensor grad = filled({2}, {0, 0});
};

Attempt adam_w_step(Moments& t, int64_t count, float rate) {
  HostTensor step = count_of(count);
  return Attempt(
      {&t.var, &t.m, &t.v, &t.grad, &step},
      [&](Handles h, uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnApplyAdamWV2GetWorkspaceSize(h[0], h[1], h[2], nullptr, h[3], h[4], rate, .9f, .999f, .1f,
                                                 1e-8f, false, false, bytes, executor);
      },
      aclnnApplyAdamWV2);
}

Attempt ema_adam_step(Moments& t, int64_t count, double rate) {
  HostTensor step = count_of(count), average = t.var.copy(Layout::contiguous);
  return Attempt(
      {&t.grad, &t.var, &t.m, &t.v, &average, &step},
      [&](Handles h, uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnApplyFusedEmaAdamGetWorkspaceSize(h[0], h[1], h[2], h[3], h[4], h[5], rate, .99, .9, .999,
                                                      1e-8, 1, true, .1, bytes, executor);
      },
      aclnnApplyFusedEmaAdam);
}

TEST(PeersCrashes, ARateOfZeroOverMomentsOfZeroMovesNothing) {
  Moments adam_w, ema_adam;
  EXPECT_EQ(adam_w_step(adam_w, 1, 0).code(), 0);
  EXPECT_EQ(ema_adam_step(ema_adam, 1, 0).code(), 0);
  for (const Moments* moments : {&adam_w, &ema_adam}) {
    EXPECT_EQ(moments->var.get(0), 3);
    EXPECT_EQ(moments->var.get(1), -4);
  }
}

// The correction of step 0 divides by zero: an exception (pytorch 53758), or NaN where steps begin with 0 (burn 834).
TEST(PeersCrashes, StepsOfAnyCountEnd) {
  for (const int64_t count : {int64_t{0}, int64_t{1}, INT64_MAX}) {
    SCOPED_TRACE(count);
    Moments adam_w, ema_adam;
    EXPECT_EQ(adam_w_step(adam_w, count, .5f).code(), 0);
    EXPECT_EQ(ema_adam_step(ema_adam, count, .5).code(), 0);
  }
  expect_stream_works();
}

// ---- lists: an empty tensor in the last of 36 places of a kernel's table made later ones write outside it
// (TransformerEngine 3202), or the work before it was not started (TransformerEngine 3207) ----

// grad, var, m, v, s of one index.
std::vector<HostTensor> five(int64_t elements, double seed) {
  std::vector<HostTensor> tensors;
  for (int k = 0; k < 5; ++k) {
    HostTensor& tensor = tensors.emplace_back(ACL_FLOAT, Shape{elements});
    for (int64_t i = 0; i < elements; ++i)
      tensor.set(i, std::abs(std::sin(seed + k) + static_cast<double>(i)));
  }
  return tensors;
}

TEST(PeersCrashes, EmptyTensorsAnywhereInAList) {
  constexpr int kLength = 60;
  const HostTensor step = count_of(3);
  for (const int empty : {0, 29, 30, 35, 36, kLength - 1}) {
    SCOPED_TRACE(empty);
    std::vector<HostTensor> list, single;
    for (int n = 0; n < kLength; ++n) {
      for (std::vector<HostTensor>* tensors : {&list, &single}) {
        for (HostTensor& tensor : five(n == empty ? 0 : 3, n)) tensors->push_back(std::move(tensor));
      }
    }
    ema_adam_list(list, step, {});
    for (size_t n = 0; n < single.size(); n += 5) {
      ema_adam({&single[n], &single[n + 1], &single[n + 2], &single[n + 3], &single[n + 4], &step}, {});
      for (size_t k = n; k < n + 5; ++k) ASSERT_EQ(list[k].all_bits(), single[k].all_bits()) << n / 5;
    }
  }
}

// One list longer than another was a crash in the dispatcher (pytorch 112305).
TEST(PeersCrashes, ListsOfDifferentLengths) {
  for (size_t odd = 0; odd < 5; ++odd) {
    SCOPED_TRACE(odd);
    HostTensor step = count_of(1);
    std::vector<HostTensor> tensors = five(4, 1);
    for (HostTensor& more : five(4, 2)) tensors.push_back(std::move(more));
    std::vector<HostTensor*> pointers = {&step};
    for (HostTensor& tensor : tensors) pointers.push_back(&tensor);
    const Attempt attempt(
        pointers,
        [&](Handles h, uint64_t* bytes, aclOpExecutor** executor) {
          std::vector<TensorList> lists;
          for (size_t k = 0; k < 5; ++k) lists.emplace_back(h.subspan(1 + 2 * k, k == odd ? 1 : 2));
          return openaclnnApplyFusedEmaAdamListGetWorkspaceSize(
              lists[0].get(), lists[1].get(), lists[2].get(), lists[3].get(), lists[4].get(), nullptr, h[0],
              nullptr, nullptr, .1, .9, .9, .9, 1e-8, 1, true, 0, bytes, executor);
        },
        openaclnnApplyFusedEmaAdamList);
    EXPECT_TRUE(
        attempt.ended(kInvalid, odd == 0 ? "tensors but grads has 1" : " has 1 tensors but grads has 2"));
    for (const bool changed : attempt.changed) EXPECT_FALSE(changed);
  }
}

// ---- paged caches ----

// Two sequences of four tokens in pages of `page_tokens`, or without pages; each completes a window of two.
Attempt compress_into_cache(HostTensor& input, HostTensor& slots, HostTensor* table, int64_t page_tokens,
                            HostTensor& cache) {
  HostTensor weight = filled({2, 1}, {1, 2});
  std::vector<HostTensor*> tensors = {&input, &weight, &slots, &cache};
  if (table != nullptr) tensors.push_back(table);
  const LengthArray lengths({.lengths = {4, 4}, .length_type = 1});
  return Attempt(
      tensors,
      [&](Handles h, uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnNsaCompressWithCacheGetWorkspaceSize(h[0], h[1], h[2], lengths.get(),
                                                         table != nullptr ? h[4] : nullptr, nullptr, 2, 2, 1,
                                                         page_tokens, h[3], bytes, executor);
      },
      aclnnNsaCompressWithCache);
}

// A slot that was valid for another size of blocks was written far behind the cache (vLLM 47056).
TEST(PeersCrashes, SlotsOutsideTheCache) {
  for (const int64_t slot :
       {int64_t{2}, int64_t{75849}, int64_t{INT32_MAX}, int64_t{-1}, int64_t{INT32_MIN}}) {
    SCOPED_TRACE(slot);
    HostTensor input(ACL_FLOAT, {8, 1, 2}), slots(ACL_INT32, {2}), cache = filled({2, 1, 2}, {9, 9, 9, 9});
    for (int64_t i = 0; i < 16; ++i) input.set(i, static_cast<double>(i));
    slots.set(0, 0);
    slots.set(1, static_cast<double>(slot));
    const Attempt attempt = compress_into_cache(input, slots, nullptr, 0, cache);
    EXPECT_TRUE(attempt.ended(kFault, "slotMapping[1] = " + std::to_string(slot) + " is outside [0, 2)"));
    EXPECT_EQ(cache.get(0), 16);
    EXPECT_EQ(cache.get(1), 19);
    EXPECT_EQ(cache.get(2), 9);
    EXPECT_EQ(cache.get(3), 9);
  }
  expect_stream_works();
}

// A table of pages that is narrower than the sequences was read beyond its rows (vLLM 53982).
TEST(PeersCrashes, TablesNarrowerThanTheSequences) {
  HostTensor input(ACL_FLOAT, {3, 2, 1, 2}), slots(ACL_INT32, {2}), table(ACL_INT32, {2, 1});
  HostTensor cache = filled({2, 1, 2}, {9, 9, 9, 9});
  slots.set(1, 1);
  const Attempt attempt = compress_into_cache(input, slots, &table, 2, cache);
  EXPECT_TRUE(attempt.ended(kInvalid, "actSeqLenOptional[0]"));
  EXPECT_FALSE(attempt.changed[3]);
}

}  // namespace
}  // namespace openaclnn_test::calls
