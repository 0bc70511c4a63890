// The part of CUDA's runtime that objects of nvcc call: they register their kernels, query them and launch
// them.
#include <cuda_runtime.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cuda/ptx/fat_binary.h"
#include "cuda/ptx/runtime.h"
#include "cuda/simt/fake_gpu.h"

using openaclnn::simt::FakeGpu;
using openaclnn::simt::Lock;
using openaclnn::simt::remember;

namespace openaclnn::ptx {

namespace {

// A function of the host that represents a kernel.
struct Stub {
  Module* module = nullptr;
  std::string name;
};

// Everything that objects registered. Never destroyed: streams run kernels while the process ends.
struct Registry {
  std::mutex mutex;
  std::vector<std::unique_ptr<Module>> modules;
  std::map<const void*, Stub> stubs;

  static Registry& instance() {
    static Registry* const registry = new Registry;
    return *registry;
  }
  // Returns nullptr if nothing is registered.
  std::pair<const Module*, const Kernel*> find(const void* stub) {
    const std::lock_guard lock(mutex);
    const auto found = stubs.find(stub);
    if (found == stubs.end()) return {nullptr, nullptr};
    return {found->second.module, found->second.module->find(found->second.name)};
  }
};

Schedule schedule_of_environment() {
  const char* const value = std::getenv("OPENACLNN_SIMT_SCHEDULE");
  const std::string word = value != nullptr ? value : "";
  if (word.empty() || word == "forward") return Schedule::forward;
  if (word == "reverse") return Schedule::reverse;
  report("OPENACLNN_SIMT_SCHEDULE is \"" + word + "\"; it must be forward or reverse");
}

bool fits(const KernelLaunch& launch) {
  constexpr unsigned kMostInX = 0x7FFFFFFF, kMostInYAndZ = 0xFFFF;
  constexpr size_t kMostSharedBytes = 48 * 1024;
  const Shape &grid = launch.grid, &block = launch.block;
  return grid.count() > 0 && block.count() > 0 && grid.x <= kMostInX && grid.y <= kMostInYAndZ &&
         grid.z <= kMostInYAndZ && block.count() <= static_cast<uint64_t>(launch.kernel->most_threads) &&
         launch.kernel->shared_bytes <= kMostSharedBytes;
}

std::atomic<Schedule>& schedule() {
  static std::atomic<Schedule> chosen{schedule_of_environment()};
  return chosen;
}

// The memory that kernels may access: the device's memory, pinned memory, and variables of the module.
AddressMap memory_now(const Module& module) {
  std::vector<AddressMap::Range> ranges;
  FakeGpu& gpu = FakeGpu::instance();
  const Lock lock(gpu.mutex);
  if (gpu.host_memory_is_ours) return AddressMap({{0, uint64_t{1} << 47}});
  for (const auto& [address, allocation] : gpu.allocations)
    ranges.push_back({reinterpret_cast<uint64_t>(address), allocation.bytes});
  for (const auto& [name, variable] : module.globals())
    ranges.push_back({reinterpret_cast<uint64_t>(variable.data()), variable.size()});
  return AddressMap(std::move(ranges));
}

// Prints a line of JSON for a kernel that has run.
void append(const char* path, const Kernel& kernel, const Counts& counts) {
  std::FILE* const file = std::fopen(path, "a");
  if (file == nullptr) report(std::string("cannot write counts to OPENACLNN_PTX_COUNTS=") + path);
  std::fprintf(file,
               R"({"kernel": "%s", "instructions": %lu, "reads": %lu, "distinct_reads": %lu, "writes": %lu, )"
               R"("distinct_writes": %lu, "shared_turns": %lu, "least_shared_turns": %lu})"
               "\n",
               readable_name(kernel).c_str(), counts.instructions, counts.reads.requested,
               counts.reads.distinct, counts.writes.requested, counts.writes.distinct, counts.shared_turns,
               counts.least_shared_turns);
  std::fclose(file);
}

Shape shape_of(const dim3& d) { return {d.x, d.y, d.z}; }

cudaError_t launch(const void* stub, const dim3& grid, const dim3& block, void** arguments,
                   size_t shared_bytes, cudaStream_t stream) {
  const auto [module, kernel] = Registry::instance().find(stub);
  if (kernel == nullptr) return remember(cudaErrorInvalidDeviceFunction);
  if (shared_bytes > 0)
    report("a launch asks for shared memory beside what the kernel declares, which is not known here");
  KernelLaunch work = {module, kernel, shape_of(grid), shape_of(block), {}};
  if (!fits(work)) return remember(cudaErrorInvalidConfiguration);
  work.parameters.resize(kernel->parameter_bytes);
  for (size_t k = 0; k < kernel->parameters.size(); ++k)
    std::memcpy(work.parameters.data() + kernel->parameters[k].offset, arguments[k],
                kernel->parameters[k].bytes);
  return FakeGpu::instance().launch(stream, [work = std::make_shared<const KernelLaunch>(std::move(work))] {
    const char* const path = std::getenv("OPENACLNN_PTX_COUNTS");
    Counter counter;
    run(*work, memory_now(*work->module), schedule().load(), path != nullptr ? &counter : nullptr);
    if (path != nullptr) append(path, *work->kernel, counter.finish());
  });
}

}  // namespace

void set_schedule(Schedule chosen) { schedule().store(chosen); }
void let_kernels_touch_host_memory() {
  FakeGpu& gpu = FakeGpu::instance();
  const Lock lock(gpu.mutex);
  gpu.host_memory_is_ours = true;
}

}  // namespace openaclnn::ptx

using namespace openaclnn::ptx;

#pragma GCC visibility push(default)
extern "C" {

// ---- calls while an object is loaded ----

void** __cudaRegisterFatBinary(void* fat_binary) {
  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.mutex);
  registry.modules.push_back(std::make_unique<Module>(find_ptx(fat_binary)));
  return reinterpret_cast<void**>(registry.modules.back().get());
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}

void __cudaRegisterFunction(void** module, const char* stub, char*, const char* name, int, uint3*, uint3*,
                            dim3*, dim3*, int*) {
  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.mutex);
  registry.stubs[stub] = {reinterpret_cast<Module*>(module), name};
}

// ---- launches ----

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* stub, void** arguments) {
  return launch(stub, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, config->stream);
}
cudaError_t cudaLaunchKernel(const void* stub, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                             cudaStream_t stream) {
  return launch(stub, grid, block, arguments, shared_bytes, stream);
}

// kernel<<<…>>>(…) stores the shape, and its stub reads it.
struct Configuration {
  dim3 grid, block;
  size_t shared_bytes;
  cudaStream_t stream;
};
static thread_local std::vector<Configuration> configurations;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream) {
  configurations.push_back({grid, block, shared_bytes, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  if (configurations.empty()) return remember(cudaErrorMissingConfiguration);
  const Configuration& latest = configurations.back();
  *grid = latest.grid;
  *block = latest.block;
  *shared_bytes = latest.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = latest.stream;
  configurations.pop_back();
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* stub) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(stub));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared_bytes, cudaStream_t stream) {
  return launch(kernel, grid, block, arguments, shared_bytes, stream);
}

// ---- queries of libraries before they launch ----

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* stub) {
  const auto [module, kernel] = Registry::instance().find(stub);
  if (kernel == nullptr) return remember(cudaErrorInvalidDeviceFunction);
  *attributes = {};
  attributes->sharedSizeBytes = kernel->shared_bytes;
  attributes->maxThreadsPerBlock = kernel->most_threads;
  attributes->numRegs = 32;
  attributes->ptxVersion = attributes->binaryVersion = module->target();
  attributes->maxDynamicSharedSizeBytes = 48 * 1024;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int, size_t,
                                                                   unsigned) {
  *blocks = 2;
  return cudaSuccess;
}

// ---- functions for tests of pieces of kernels that the fake GPU lacks ----

cudaError_t cudaMallocManaged(void** address, size_t bytes, unsigned) { return cudaMalloc(address, bytes); }
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  if (const cudaError_t error = cudaMemsetAsync(to, value, bytes, nullptr); error != cudaSuccess)
    return error;
  return cudaStreamSynchronize(nullptr);
}
cudaError_t cudaDeviceSynchronize() { return cudaStreamSynchronize(nullptr); }
}
#pragma GCC visibility pop
