// The work of other threads while tiny calls are measured.
#include "other_work.h"

#include <sys/mman.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>

#include "acl/acl.h"
#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "aclnnop/aclnn_embedding.h"
#include "openaclnn/openaclnn.h"
#include "tiny_calls.h"

namespace openaclnn_latency {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kStretch = std::chrono::milliseconds(400);
constexpr auto kAround = std::chrono::milliseconds(10);  // so that calls are running
constexpr size_t kMiB = size_t{1} << 20;
constexpr int kFaultCode = 507035;

template <class Step>
void repeat(const Step& step) {
  const auto end = Clock::now() + kStretch;
  while (Clock::now() < end) step();
}

// Device memory, and a tensor over it.
class Tensor {
 public:
  Tensor(int64_t count, aclDataType dtype) {
    const size_t bytes = static_cast<size_t>(count) * aclDataTypeSize(dtype);
    require(aclrtMalloc(&data_, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    std::memset(data_, 0, bytes);
    const int64_t dims[] = {count, 1};
    handle_ = aclCreateTensor(dims, 2, dtype, nullptr, 0, ACL_FORMAT_ND, dims, 2, data_);
  }
  ~Tensor() {
    aclDestroyTensor(handle_);
    aclrtFree(data_);
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  aclTensor* handle() const { return handle_; }
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  aclTensor* handle_ = nullptr;
};

// On the calling thread's stream.
struct Stream {
  Stream() {
    require(aclrtSetDevice(0));
    require(aclrtCreateStream(&handle));
  }
  ~Stream() { aclrtDestroyStream(handle); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  aclrtStream handle = nullptr;
};

void sleep() { std::this_thread::sleep_for(kStretch); }

void write_memory() {
  static std::vector<char> buffer(256 * kMiB);
  repeat([] { std::memset(buffer.data(), 1, buffer.size()); });
}

// One byte in each page: the system writes the rest.
void touch(void* block, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 4096) static_cast<volatile char*>(block)[at] = 1;
}

void* touched_block(size_t bytes) {
  void* block = nullptr;
  require(aclrtSetDevice(0));
  require(aclrtMalloc(&block, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  touch(block, bytes);
  return block;
}

void touch_memory_of_the_system(size_t bytes) {
  void* const block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return;
  (void)madvise(block, bytes, MADV_HUGEPAGE);
  touch(block, bytes);
  munmap(block, bytes);
}

// Measures only the free, until the memory is back at the system.
OtherWork free_of(const char* name, size_t bytes, bool huge) {
  const auto block = std::make_shared<void*>();
  return {name,
          "a free of " + std::to_string(bytes / kMiB) + " MiB in " + (huge ? "huge" : "small") + " pages",
          [=] {
            (void)prctl(PR_SET_THP_DISABLE, huge ? 0 : 1, 0, 0, 0);
            *block = touched_block(bytes);
            (void)prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
          },
          [=] {
            std::this_thread::sleep_for(kAround);
            require(aclrtFree(*block));
            require(openaclnnReleaseMemory());
            std::this_thread::sleep_for(kAround);
          }};
}

void allocate_and_free() {
  require(aclrtSetDevice(0));
  std::array<void*, 32> blocks = {};
  uint32_t state = 1;
  repeat([&] {
    state = state * 1664525 + 1013904223;
    void*& block = blocks[state >> 27];
    if (block != nullptr) require(aclrtFree(block));
    const size_t bytes = (state >> 4) % (state % 4 == 0 ? 40 * kMiB : kMiB) + 1;
    require(aclrtMalloc(&block, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    std::memset(block, 1, std::min<size_t>(bytes, 65536));
  });
  for (void* block : blocks) {
    if (block != nullptr) require(aclrtFree(block));
  }
}

void run_long_kernels() {
  const Stream stream;
  constexpr int64_t kElements = int64_t{8} << 20;
  std::vector<std::unique_ptr<Tensor>> t;
  for (int k = 0; k < 5; ++k) t.push_back(std::make_unique<Tensor>(kElements, ACL_FLOAT));
  const Tensor step(1, ACL_INT64);
  repeat([&] {
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    require(aclnnApplyFusedEmaAdamGetWorkspaceSize(t[0]->handle(), t[1]->handle(), t[2]->handle(),
                                                   t[3]->handle(), t[4]->handle(), step.handle(), 1e-3, 0.999,
                                                   0.9, 0.999, 1e-8, 1, false, 0.01, &bytes, &executor));
    require(aclnnApplyFusedEmaAdam(nullptr, 0, executor, stream.handle));
    require(aclrtSynchronizeStream(stream.handle));
  });
}

void make_faults() {
  const Stream stream;
  constexpr int64_t kIndices = 4096;
  const Tensor table(10, ACL_FLOAT), out(kIndices, ACL_FLOAT);
  std::vector<int64_t> indices(kIndices, 77);
  const int64_t dims[] = {kIndices};
  aclTensor* const wrong =
      aclCreateTensor(dims, 1, ACL_INT64, nullptr, 0, ACL_FORMAT_ND, dims, 1, indices.data());
  repeat([&] {
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    require(aclnnEmbeddingGetWorkspaceSize(table.handle(), wrong, out.handle(), &bytes, &executor));
    require(aclnnEmbedding(nullptr, 0, executor, stream.handle));
    require(aclrtSynchronizeStream(stream.handle), kFaultCode);
    (void)aclGetRecentErrMsg();
  });
  aclDestroyTensor(wrong);
}

}  // namespace

size_t bytes_to_free() {
  size_t free = 0, total = 0;
  require(aclrtSetDevice(0));
  require(aclrtGetMemInfo(ACL_DDR_MEM, &free, &total));
  return std::clamp(free / 3, 16 * kMiB, size_t{8} << 30) / kMiB * kMiB;
}

std::vector<OtherWork> all_other_work(size_t most_bytes) {
  const std::string size = std::to_string(most_bytes / kMiB) + " MiB";
  return {{"idle", "nothing", {}, sleep},
          {"control", "writing memory (without the library)", {}, write_memory},
          {"control_touch",
           "mmap, touch, munmap of " + size + " (without it)",
           {},
           [=] { touch_memory_of_the_system(most_bytes); }},
          {"touch",
           "aclrtMalloc, touch, aclrtFree of " + size,
           {},
           [=] {
             require(aclrtFree(touched_block(most_bytes)));
             require(openaclnnReleaseMemory());
           }},
          free_of("frees", most_bytes, true),
          free_of("small_pages", most_bytes / 4, false),
          {"allocations", "allocations and frees of 1 byte to 40 MiB", {}, allocate_and_free},
          {"kernels", "long kernels of another stream", {}, run_long_kernels},
          {"faults", "faults of another stream", {}, make_faults}};
}

}  // namespace openaclnn_latency
