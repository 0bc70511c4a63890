// Times every operator on the device in use, beside a copy of the same device: one line of JSON each, for tools/gpu.
//
//   openaclnn_gpu_bench [DIVISOR]     DIVISOR makes the tensors smaller, to try the program without a GPU
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "aclnnop/aclnn_embedding_dense_backward.h"
#include "aclnnop/aclnn_grouped_bias_add_grad.h"
#include "aclnnop/aclnn_nsa_compress_grad.h"

namespace {

constexpr int kWarmUps = 3, kRuns = 20;
int64_t divisor = 1;

void require(int code, const char* what) {
  if (code == 0) return;
  const char* const text = aclGetRecentErrMsg();
  std::fprintf(stderr, "%s returned %d: %s\n", what, code, text != nullptr ? text : "");
  std::exit(1);
}
#define REQUIRE(call) require(call, #call)

struct Dtype {
  aclDataType type;
  const char* name;
  int64_t bytes;
};
constexpr Dtype kDtypes[] = {{ACL_FLOAT, "fp32", 4}, {ACL_BF16, "bf16", 2}, {ACL_FLOAT16, "fp16", 2}};

using Dims = std::vector<int64_t>;
int64_t product(const Dims& dims) {
  int64_t all = 1;
  for (int64_t dim : dims) all *= dim;
  return all;
}

// A contiguous tensor in device memory, of zero bits unless integers are given.
class Tensor {
 public:
  Tensor(const Dims& dims, aclDataType type)
      : bytes_(static_cast<size_t>(product(dims)) * aclDataTypeSize(type)) {
    REQUIRE(aclrtMalloc(&data_, std::max<size_t>(bytes_, 1), ACL_MEM_MALLOC_HUGE_FIRST));
    REQUIRE(aclrtMemset(data_, bytes_, 0, bytes_));
    handle_ = aclCreateTensor(dims.data(), dims.size(), type, nullptr, 0, ACL_FORMAT_ND, dims.data(),
                              dims.size(), data_);
  }
  explicit Tensor(const std::vector<int64_t>& values)
      : Tensor({static_cast<int64_t>(values.size())}, ACL_INT64) {
    REQUIRE(aclrtMemcpy(data_, bytes_, values.data(), bytes_, ACL_MEMCPY_HOST_TO_DEVICE));
  }
  ~Tensor() {
    (void)aclDestroyTensor(handle_);
    (void)aclrtFree(data_);
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  operator aclTensor*() const { return handle_; }
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
  void* data_ = nullptr;
  aclTensor* handle_ = nullptr;
};

// The median time of one call, in microseconds.
double time_of(aclrtStream stream, const std::function<void()>& call) {
  aclrtEvent start = nullptr, end = nullptr;
  REQUIRE(aclrtCreateEvent(&start));
  REQUIRE(aclrtCreateEvent(&end));
  std::vector<float> times;
  for (int run = 0; run < kWarmUps + kRuns; ++run) {
    REQUIRE(aclrtRecordEvent(start, stream));
    call();
    REQUIRE(aclrtRecordEvent(end, stream));
    REQUIRE(aclrtSynchronizeStream(stream));
    float milliseconds = 0;
    REQUIRE(aclrtEventElapsedTime(&milliseconds, start, end));
    if (run >= kWarmUps) times.push_back(milliseconds);
  }
  REQUIRE(aclrtDestroyEvent(start));
  REQUIRE(aclrtDestroyEvent(end));
  std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
  return 1e3 * static_cast<double>(times[kRuns / 2]);
}

void report(const char* name, const std::string& variant, const char* dtype, int64_t bytes,
            uint64_t workspace, double microseconds) {
  std::printf(
      "{\"operator\": \"%s\", \"case\": \"%s\", \"dtype\": \"%s\", \"bytes\": %lld, \"workspace\": %llu, "
      "\"microseconds\": %.3f}\n",
      name, variant.c_str(), dtype, static_cast<long long>(bytes), static_cast<unsigned long long>(workspace),
      microseconds);
  std::fflush(stdout);
}

using Phase1 = std::function<aclnnStatus(uint64_t*, aclOpExecutor**)>;
using Phase2 = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);

void measure(const char* name, const std::string& variant, const char* dtype, int64_t bytes,
             const Phase1& phase1, Phase2 phase2) {
  aclrtStream stream = nullptr;
  REQUIRE(aclrtCreateStream(&stream));
  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
  require(phase1(&workspace_bytes, &executor), name);
  REQUIRE(aclSetAclOpExecutorRepeatable(executor));
  void* workspace = nullptr;
  if (workspace_bytes > 0) REQUIRE(aclrtMalloc(&workspace, workspace_bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  const double microseconds =
      time_of(stream, [&] { require(phase2(workspace, workspace_bytes, executor, stream), name); });
  report(name, variant, dtype, bytes, workspace_bytes, microseconds);
  if (workspace != nullptr) REQUIRE(aclrtFree(workspace));
  REQUIRE(aclDestroyAclOpExecutor(executor));
  REQUIRE(aclrtDestroyStream(stream));
}

// What the goals are measured by: reads and writes of a copy far larger than any cache.
void copy_ceiling() {
  const int64_t bytes = (int64_t{1} << 30) / divisor;
  const Tensor from({bytes}, ACL_UINT8), to({bytes}, ACL_UINT8);
  aclrtStream stream = nullptr;
  REQUIRE(aclrtCreateStream(&stream));
  const double microseconds = time_of(stream, [&] {
    REQUIRE(aclrtMemcpyAsync(to.data(), to.bytes(), from.data(), from.bytes(), ACL_MEMCPY_DEVICE_TO_DEVICE,
                             stream));
  });
  report("copy", "1 GiB", "", 2 * bytes, 0, microseconds);
  REQUIRE(aclrtDestroyStream(stream));
}

void ema_adam(const Dtype& dtype) {
  const int64_t numel = (int64_t{64} << 20) / divisor;
  const Tensor grad({numel}, dtype.type), var({numel}, dtype.type), m({numel}, dtype.type),
      v({numel}, dtype.type), s({numel}, dtype.type), step(std::vector<int64_t>{10});
  measure(
      "ApplyFusedEmaAdam", "64 Mi elements", dtype.name, 9 * numel * dtype.bytes,
      [&](uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnApplyFusedEmaAdamGetWorkspaceSize(grad, var, m, v, s, step, 1e-3, 0.999, 0.9, 0.999, 1e-8,
                                                      1, true, 0.01, bytes, executor);
      },
      aclnnApplyFusedEmaAdam);
}

void grouped_bias(const Dtype& dtype) {
  constexpr int64_t kColumns = 4096, kGroups = 64;
  const int64_t rows = std::max<int64_t>((int64_t{512} << 20) / (kColumns * dtype.bytes) / divisor, kGroups);
  const Tensor grad({rows, kColumns}, dtype.type), out({kGroups, kColumns}, dtype.type);
  for (const bool skewed : {false, true}) {
    std::vector<int64_t> ends(kGroups);
    for (int64_t j = 0; j < kGroups; ++j)
      ends[static_cast<size_t>(j)] = skewed ? (j < kGroups - 1 ? j : rows) : rows * (j + 1) / kGroups;
    const Tensor index(ends);
    measure(
        "GroupedBiasAddGrad", skewed ? "512 MiB, one group has nearly all" : "512 MiB, equal groups",
        dtype.name, (rows + kGroups) * kColumns * dtype.bytes,
        [&](uint64_t* bytes, aclOpExecutor** executor) {
          return aclnnGroupedBiasAddGradGetWorkspaceSize(grad, index, out, bytes, executor);
        },
        aclnnGroupedBiasAddGrad);
  }
}

void embedding_gradient(const Dtype& dtype) {
  constexpr int64_t kColumns = 4096;
  const int64_t rows = (int64_t{1} << 30) / (kColumns * dtype.bytes) / divisor;
  const Tensor out({rows, kColumns}, dtype.type);
  for (const int64_t count : {int64_t{8} << 10, int64_t{32} << 10}) {
    const Tensor grad({count, kColumns}, dtype.type);
    for (const bool equal : {false, true}) {
      std::vector<int64_t> indices(static_cast<size_t>(count));
      uint64_t state = 1;
      for (int64_t& index : indices) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        index = equal ? rows / 2 : static_cast<int64_t>((state >> 33) % static_cast<uint64_t>(rows));
      }
      const Tensor index(indices);
      measure(
          "EmbeddingDenseBackward",
          std::to_string(count / 1024) + " Ki indices, " + (equal ? "equal" : "uniform"), dtype.name,
          (rows + count) * kColumns * dtype.bytes + count * 8,
          [&](uint64_t* bytes, aclOpExecutor** executor) {
            return aclnnEmbeddingDenseBackwardGetWorkspaceSize(grad, index, static_cast<uint64_t>(rows),
                                                               UINT64_MAX, false, out, bytes, executor);
          },
          aclnnEmbeddingDenseBackward);
    }
  }
}

void nsa_gradient(const Dtype& dtype) {
  constexpr int64_t kHeads = 16, kColumns = 128;
  const int64_t tokens =
      std::max<int64_t>((int64_t{256} << 20) / (kHeads * kColumns * dtype.bytes) / divisor, 256);
  for (const auto& [block, stride] : {std::pair<int64_t, int64_t>{32, 16}, {64, 16}}) {
    const int64_t windows = (tokens - block) / stride + 1;
    const Tensor output_grad({windows, kHeads, kColumns}, dtype.type),
        input({tokens, kHeads, kColumns}, dtype.type), weight({block, kHeads}, dtype.type),
        input_grad({tokens, kHeads, kColumns}, dtype.type), weight_grad({block, kHeads}, dtype.type);
    char layout[] = "TND";
    measure(
        "NsaCompressGrad",
        "256 MiB, windows of " + std::to_string(block) + " every " + std::to_string(stride), dtype.name,
        (2 * tokens + windows) * kHeads * kColumns * dtype.bytes,
        [&, block = block, stride = stride](uint64_t* bytes, aclOpExecutor** executor) {
          return aclnnNsaCompressGradGetWorkspaceSize(output_grad, input, weight, nullptr, block, stride, 0,
                                                      layout, input_grad, weight_grad, bytes, executor);
        },
        aclnnNsaCompressGrad);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) divisor = std::max(std::atoi(argv[1]), 1);
  REQUIRE(aclInit(nullptr));
  REQUIRE(aclrtSetDevice(0));
  copy_ceiling();
  for (const Dtype& dtype : kDtypes) {
    ema_adam(dtype);
    grouped_bias(dtype);
    embedding_gradient(dtype);
    nsa_gradient(dtype);
  }
  copy_ceiling();  // a clock that fell meanwhile shows
  REQUIRE(aclFinalize());
  return 0;
}
