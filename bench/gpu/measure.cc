// Times every operator on the device in use, beside the bandwidth of the device's memory: one line of JSON
// each, for tools/gpu.
//
// The tensors of a call are several times as large as the caches of GPUs, so the next call finds few of
// them there.
//
//   openaclnn_gpu_bench [DIVISOR [RUNS [OPERATOR]]]     DIVISOR makes the tensors smaller, to try the program without a GPU; RUNS (20)
//       are the calls that are timed, after three others if there are several; OPERATOR is a part of the names of those to measure
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "aclnnop/aclnn_embedding_dense_backward.h"
#include "aclnnop/aclnn_grouped_bias_add_grad.h"
#include "aclnnop/aclnn_nsa_compress_grad.h"
#include "openaclnn/openaclnn.h"
#include "read.h"

namespace {

constexpr size_t kMiB = size_t{1} << 20;
int64_t divisor = 1;
int runs = 20;
const char* wanted = "";

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

uint64_t next_random(uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}

// The bits of a random number in [0.5, 1): random digits behind the exponent of 0.5. Zeros would take slow
// paths of divisions and square roots, and need less power.
uint64_t random_element(aclDataType type, uint64_t& state) {
  const uint64_t random = next_random(state);
  switch (type) {
    case ACL_FLOAT: return 0x3F000000 | (random & 0x7FFFFF);
    case ACL_BF16: return 0x3F00 | (random & 0x7F);
    case ACL_FLOAT16: return 0x3800 | (random & 0x3FF);
    default: return random;
  }
}

// A contiguous tensor in device memory, of random numbers unless integers are given.
class Tensor {
 public:
  Tensor(const Dims& dims, aclDataType type)
      : bytes_(static_cast<size_t>(product(dims)) * aclDataTypeSize(type)) {
    REQUIRE(aclrtMalloc(&data_, std::max<size_t>(bytes_, 1), ACL_MEM_MALLOC_HUGE_FIRST));
    fill(type);
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
  // The same few MiB repeatedly.
  void fill(aclDataType type) {
    const size_t element_bytes = aclDataTypeSize(type);
    std::vector<unsigned char> block(std::min(bytes_, 4 * kMiB));
    uint64_t state = 1;
    for (size_t at = 0; at < block.size(); at += element_bytes) {
      const uint64_t element = random_element(type, state);
      std::memcpy(block.data() + at, &element, element_bytes);
    }
    for (size_t at = 0; at < bytes_; at += block.size()) {
      const size_t bytes = std::min(block.size(), bytes_ - at);
      REQUIRE(
          aclrtMemcpy(static_cast<char*>(data_) + at, bytes, block.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    }
  }

  size_t bytes_;
  void* data_ = nullptr;
  aclTensor* handle_ = nullptr;
};

// Work for a stream while the host prepares a call: if the device waited for the host between two events,
// the host's time would count. A copy to the host takes long, and leaves nothing in the GPU's cache that
// must be written back during the call.
class Backlog {
 public:
  Backlog() : from_({static_cast<int64_t>(kBytes)}, ACL_UINT8) { REQUIRE(aclrtMallocHost(&to_, kBytes)); }
  ~Backlog() { (void)aclrtFreeHost(to_); }
  Backlog(const Backlog&) = delete;
  Backlog& operator=(const Backlog&) = delete;

  void queue(aclrtStream stream) const {
    REQUIRE(aclrtMemcpyAsync(to_, kBytes, from_.data(), kBytes, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  }

 private:
  static constexpr size_t kBytes = 64 * kMiB;
  Tensor from_;
  void* to_ = nullptr;
};

// Returns the median time of one call, in microseconds.
double time_of(aclrtStream stream, const std::function<void()>& call) {
  aclrtEvent start = nullptr, end = nullptr;
  REQUIRE(aclrtCreateEvent(&start));
  REQUIRE(aclrtCreateEvent(&end));
  std::vector<float> times;
  const Backlog backlog;
  const int warm_ups = runs > 1 ? 3 : 0;
  for (int run = 0; run < warm_ups + runs; ++run) {
    backlog.queue(stream);
    REQUIRE(aclrtRecordEvent(start, stream));
    call();
    REQUIRE(aclrtRecordEvent(end, stream));
    REQUIRE(aclrtSynchronizeStream(stream));
    float milliseconds = 0;
    REQUIRE(aclrtEventElapsedTime(&milliseconds, start, end));
    if (run >= warm_ups) times.push_back(milliseconds);
  }
  REQUIRE(aclrtDestroyEvent(start));
  REQUIRE(aclrtDestroyEvent(end));
  std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
  return 1e3 * static_cast<double>(times[static_cast<size_t>(runs) / 2]);
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
  if (std::strstr(name, wanted) == nullptr) return;
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

// The reference of the goals: reads and writes of a copy far larger than any cache. It also measures writes
// alone, and reads alone if the program has a kernel that reads.
void memory_ceilings() {
  const int64_t bytes = static_cast<int64_t>(1024 * kMiB) / divisor;
  const Tensor from({bytes}, ACL_UINT8), to({bytes}, ACL_UINT8);
  aclrtStream stream = nullptr;
  REQUIRE(aclrtCreateStream(&stream));
  const auto row = [&](const char* name, int64_t moved, aclrtStream on, const std::function<void()>& call) {
    report(name, "1 GiB", "", moved, 0, time_of(on, call));
  };
  row("copy", 2 * bytes, stream, [&] {
    REQUIRE(aclrtMemcpyAsync(to.data(), to.bytes(), from.data(), from.bytes(), ACL_MEMCPY_DEVICE_TO_DEVICE,
                             stream));
  });
  row("write", bytes, stream,
      [&] { REQUIRE(aclrtMemsetAsync(to.data(), to.bytes(), 1, to.bytes(), stream)); });
  REQUIRE(aclrtDestroyStream(stream));
  void* const native = create_native_stream();
  if (native != nullptr && openaclnnCreateStreamFromNative(native, &stream) == 0) {
    row("read", bytes, stream, [&] { REQUIRE(read_all(from.data(), from.bytes(), native)); });
    REQUIRE(aclrtDestroyStream(stream));
  }
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
        const uint64_t random = next_random(state);
        index = equal ? rows / 2 : static_cast<int64_t>(random % static_cast<uint64_t>(rows));
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
  if (argc > 2) runs = std::max(std::atoi(argv[2]), 1);
  if (argc > 3) wanted = argv[3];
  REQUIRE(aclInit(nullptr));
  REQUIRE(aclrtSetDevice(0));
  memory_ceilings();
  for (const Dtype& dtype : kDtypes) {
    ema_adam(dtype);
    grouped_bias(dtype);
    embedding_gradient(dtype);
    nsa_gradient(dtype);
  }
  memory_ceilings();  // shows whether the clock fell during the run
  REQUIRE(aclFinalize());
  return 0;
}
