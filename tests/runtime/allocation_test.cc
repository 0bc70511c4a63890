// Tests that repeated calls allocate nothing: each operator in small and in large, with all threads of the
// process counted.
#include <atomic>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "aclnnop/aclnn_embedding.h"
#include "aclnnop/aclnn_embedding_dense_backward.h"
#include "aclnnop/aclnn_grouped_bias_add_grad.h"
#include "aclnnop/aclnn_nsa_compress.h"
#include "aclnnop/aclnn_nsa_compress_grad.h"
#include "aclnnop/aclnn_nsa_compress_with_cache.h"
#include "openaclnn/apply_fused_ema_adam_list.h"
#include "runtime/counter.h"
#include "runtime/runtime_test.h"

// The C library's own functions under the names that programs do not replace.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace {

std::atomic<long> allocations{0};

constexpr bool kCounts = !runtime_test::kThreadSanitizer && !runtime_test::kAddressSanitizer;

}  // namespace

// Definitions of the program come before those of the C library, also for the shared libraries that it
// loads. operator new also calls these. Sanitizers have their own definitions.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" {
void* malloc(size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
  ++allocations;
  return __libc_realloc(memory, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  ++allocations;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  ++allocations;
  *memory = __libc_memalign(alignment, bytes);
  return *memory != nullptr ? 0 : ENOMEM;
}
}
#endif

namespace {

using namespace runtime_test;
using Phase1 = std::function<int(uint64_t*, aclOpExecutor**)>;
using Phase2 = int (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);

class AllocationTest : public RuntimeTest {
 protected:
  void SetUp() override {
    if (!kCounts) GTEST_SKIP() << "sanitized builds keep no memory for later calls";
    RuntimeTest::SetUp();
  }
  void TearDown() override {
    for (const aclTensor* tensor : tensors_) (void)aclDestroyTensor(tensor);
    if (kCounts) RuntimeTest::TearDown();
  }

  // A tensor of ones over its own memory.
  aclTensor* floats(const std::vector<int64_t>& dims) {
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    memory_.emplace_back(static_cast<size_t>(count), 1.0f);
    tensors_.push_back(make_tensor(dims, ACL_FLOAT, memory_.back().data()));
    return tensors_.back();
  }
  aclTensor* integers(std::vector<int64_t> values) {
    integers_.push_back(std::move(values));
    const auto count = static_cast<int64_t>(integers_.back().size());
    tensors_.push_back(make_tensor({count}, ACL_INT64, integers_.back().data()));
    return tensors_.back();
  }

  aclTensor* int32_zeros(int64_t count) {
    integers_.emplace_back(static_cast<size_t>(count));
    tensors_.push_back(make_tensor({count}, ACL_INT32, integers_.back().data()));
    return tensors_.back();
  }

  // Calls `rounds` times after some warm-up calls, synchronises after every `calls_per_wait` calls, and
  // expects no allocation. Exceptions: once the C library's next block of exit handlers (see
  // scheduler_process.cc) and, with workers, the blocks that a worker keeps when it frees for the first
  // time.
  void expect_no_allocation(const char* what, int rounds, int calls_per_wait, const Phase1& phase1,
                            Phase2 phase2) {
    SCOPED_TRACE(what);
    std::vector<char> workspace(1 << 20);
    int failures = 0;
    const auto call = [&](int count) {
      for (int k = 0; k < count; ++k) {
        uint64_t bytes = 0;
        aclOpExecutor* executor = nullptr;
        failures += phase1(&bytes, &executor) != 0 || bytes > workspace.size() ||
                    phase2(workspace.data(), bytes, executor, stream) != 0;
        if ((k + 1) % calls_per_wait == 0) failures += aclrtSynchronizeStream(stream) != 0;
      }
      failures += aclrtSynchronizeStream(stream) != 0;
    };
    call(500);
    const long before = allocations;
    call(rounds);
    EXPECT_LE(allocations - before, workers_take_part ? rounds / 10 : 1);
    EXPECT_EQ(failures, 0);
  }

  void expect_no_allocation_of_any_operator(int64_t scale, int rounds, int calls_per_wait) {
    const int64_t n = 8 * scale;
    aclTensor* const states[] = {floats({n}), floats({n}), floats({n}), floats({n}), floats({n})};
    aclTensor* const step = integers({1});
    expect_no_allocation(
        "ApplyFusedEmaAdam", rounds, calls_per_wait,
        [&](uint64_t* bytes, aclOpExecutor** executor) {
          return aclnnApplyFusedEmaAdamGetWorkspaceSize(states[0], states[1], states[2], states[3], states[4],
                                                        step, 0, 0, 0, 0, 0, 1, true, 0, bytes, executor);
        },
        aclnnApplyFusedEmaAdam);

    aclTensor* const rows = floats({n, 8});
    aclTensor* const sums = floats({2, 8});
    aclTensor* const ends = integers({n / 2, n});
    expect_no_allocation(
        "GroupedBiasAddGrad", rounds, calls_per_wait,
        [&](uint64_t* bytes, aclOpExecutor** executor) {
          return aclnnGroupedBiasAddGradGetWorkspaceSize(rows, ends, sums, bytes, executor);
        },
        aclnnGroupedBiasAddGrad);

    aclTensor* const table = floats({n, 4});
    aclTensor* const looked_up = floats({n, 4});
    std::vector<int64_t> values(static_cast<size_t>(n));
    for (size_t k = 0; k < values.size(); ++k) values[k] = static_cast<int64_t>(k * 7) % n;
    aclTensor* const indices = integers(values);
    expect_no_allocation(
        "Embedding", rounds, calls_per_wait,
        [&](uint64_t* bytes, aclOpExecutor** executor) {
          return aclnnEmbeddingGetWorkspaceSize(table, indices, looked_up, bytes, executor);
        },
        aclnnEmbedding);
    expect_no_allocation(
        "EmbeddingDenseBackward", rounds, calls_per_wait,
        [&](uint64_t* bytes, aclOpExecutor** executor) {
          return aclnnEmbeddingDenseBackwardGetWorkspaceSize(looked_up, indices, static_cast<uint64_t>(n),
                                                             ~uint64_t{0}, false, table, bytes, executor);
        },
        aclnnEmbeddingDenseBackward);

    aclTensor* const tokens = floats({n, 2, 4});
    aclTensor* const weight = floats({4, 2});
    aclTensor* const compressed = floats({n / 4, 2, 4});
    aclTensor* const tokens_grad = floats({n, 2, 4});
    aclTensor* const weight_grad = floats({4, 2});
    const int64_t ends_of_sequences[] = {n / 2, n};
    aclIntArray* const lengths = aclCreateIntArray(ends_of_sequences, 2);
    expect_no_allocation(
        "NsaCompress", rounds, calls_per_wait,
        [&](uint64_t* bytes, aclOpExecutor** executor) {
          return aclnnNsaCompressGetWorkspaceSize(tokens, weight, lengths, nullptr, 4, 4, 0, compressed,
                                                  bytes, executor);
        },
        aclnnNsaCompress);
    expect_no_allocation(
        "NsaCompressGrad", rounds, calls_per_wait,
        [&](uint64_t* bytes, aclOpExecutor** executor) {
          return aclnnNsaCompressGradGetWorkspaceSize(compressed, tokens, weight, lengths, 4, 4, 0, nullptr,
                                                      tokens_grad, weight_grad, bytes, executor);
        },
        aclnnNsaCompressGrad);
    expect(0, aclDestroyIntArray(lengths));

    aclTensor* const slots = int32_zeros(2);
    const int64_t halves[] = {n / 2, n / 2};
    aclIntArray* const sequences = aclCreateIntArray(halves, 2);
    expect_no_allocation(
        "NsaCompressWithCache", rounds, calls_per_wait,
        [&](uint64_t* bytes, aclOpExecutor** executor) {
          return aclnnNsaCompressWithCacheGetWorkspaceSize(tokens, weight, slots, sequences, nullptr, nullptr,
                                                           4, 4, 1, 0, compressed, bytes, executor);
        },
        aclnnNsaCompressWithCache);
    expect(0, aclDestroyIntArray(sequences));
  }

  bool workers_take_part = true;

 private:
  std::vector<std::vector<float>> memory_;
  std::vector<std::vector<int64_t>> integers_;
  std::vector<aclTensor*> tensors_;
};

TEST_F(AllocationTest, TheCounterCounts) {
  const long before = allocations;
  (void)std::vector<char>(100);
  aclOpExecutor* executor = Counter().planned();
  EXPECT_GT(allocations, before);
  expect(0, aclDestroyAclOpExecutor(executor));
}

TEST_F(AllocationTest, SmallTasks) {
  workers_take_part = false;
  expect_no_allocation_of_any_operator(1, 10000, 1);
}

// Workers run these and free memory of the calling thread.
TEST_F(AllocationTest, LargeTasks) { expect_no_allocation_of_any_operator(1000, 1000, 1); }

// A thousand parameters: the memory that phase 1 and phase 2 keep of each adds up to megabytes.
TEST_F(AllocationTest, LongLists) {
  constexpr size_t kTensors = 1000;
  constexpr size_t kRoles = 5;
  aclTensorList* lists[kRoles];
  for (aclTensorList*& list : lists) {
    std::vector<aclTensor*> parts(kTensors);
    for (aclTensor*& part : parts) part = floats({8});
    list = aclCreateTensorList(parts.data(), parts.size());
  }
  aclTensor* const step = integers({1});
  expect_no_allocation(
      "ApplyFusedEmaAdamList", 200, 1,
      [&](uint64_t* bytes, aclOpExecutor** executor) {
        return openaclnnApplyFusedEmaAdamListGetWorkspaceSize(lists[0], lists[1], lists[2], lists[3],
                                                              lists[4], nullptr, step, nullptr, nullptr, 0, 0,
                                                              0, 0, 0, 1, true, 0, bytes, executor);
      },
      openaclnnApplyFusedEmaAdamList);
}

TEST_F(AllocationTest, NewAddresses) {
  std::vector<float> tables[2] = {std::vector<float>(8), std::vector<float>(8)};
  aclTensor* const table = floats({4, 2});
  aclTensor* const rows = floats({3, 2});
  aclTensor* const indices = integers({1, 2, 3});
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  expect(0, aclnnEmbeddingGetWorkspaceSize(table, indices, rows, &bytes, &executor));
  expect(0, aclSetAclOpExecutorRepeatable(executor));
  int failures = 0;
  const auto move = [&](int rounds) {
    for (int k = 0; k < rounds; ++k) {
      failures += aclSetTensorAddr(executor, 0, table, tables[k % 2].data()) != 0;
      failures += aclSetRawTensorAddr(table, tables[(k + 1) % 2].data()) != 0;
      failures += aclnnEmbedding(nullptr, bytes, executor, stream) != 0;
      failures += aclrtSynchronizeStream(stream) != 0;
    }
  };
  move(500);
  const long before = allocations;
  move(1000);
  EXPECT_LE(allocations - before, 1);
  EXPECT_EQ(failures, 0);
  expect(0, aclDestroyAclOpExecutor(executor));
}

TEST_F(AllocationTest, QueuedTasks) { expect_no_allocation_of_any_operator(500, 1000, 10); }

// Another thread frees the memory that phase 1 allocates here.
TEST_F(AllocationTest, PhasesOnDifferentThreads) {
  Counter counter;
  constexpr int kRounds = 2000;
  constexpr int kWarmUp = 200;
  std::atomic<aclOpExecutor*> handed{nullptr};
  std::atomic<int> failures{0};
  long before = 0;
  std::thread launcher([&] {
    failures += aclrtSetDevice(0) != 0;
    for (int k = 0; k < kRounds; ++k) {
      aclOpExecutor* executor = nullptr;
      while ((executor = handed.exchange(nullptr)) == nullptr) std::this_thread::yield();
      failures += aclnnApplyFusedEmaAdam(nullptr, 0, executor, stream) != 0;
      failures += aclrtSynchronizeStream(stream) != 0;
    }
    failures += aclrtResetDevice(0) != 0;
  });
  for (int k = 0; k < kRounds; ++k) {
    if (k == kWarmUp) before = allocations;
    aclOpExecutor* executor = nullptr;
    failures += counter.plan(&executor) != 0;
    aclOpExecutor* none = nullptr;
    while (!handed.compare_exchange_weak(none, executor)) {
      none = nullptr;
      std::this_thread::yield();
    }
  }
  const long after = allocations;
  launcher.join();
  EXPECT_LE(after - before, kRounds / 100);  // the number of blocks in use depends on the threads' timing
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(counter.value(), static_cast<float>(kRounds));
}

}  // namespace
