// The host interface of CUDA over the fake GPU: devices and memory. Device memory is host memory, each
// block allocated separately, so that AddressSanitizer detects accesses outside it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "cuda/simt/fake_gpu.h"

using namespace openaclnn::simt;

namespace {

constexpr size_t kTotalBytes = size_t{8} << 30;

FakeGpu& gpu() { return FakeGpu::instance(); }

// `sum` is the total of this kind of memory.
cudaError_t allocate(const char* function, void** address, size_t bytes, size_t& sum) {
  if (const cudaError_t error = gpu().enter(function); error != cudaSuccess) return error;
  *address = nullptr;
  if (bytes == 0) return cudaSuccess;
  const Lock lock(gpu().mutex);
  if (const cudaError_t error = gpu().refuse_during_capture(lock); error != cudaSuccess) return error;
  constexpr size_t kAlignment = 256;
  void* memory = nullptr;
  const bool fits = bytes <= kTotalBytes - std::min(kTotalBytes, sum);
  if (!fits || posix_memalign(&memory, kAlignment, bytes) != 0) return remember(cudaErrorMemoryAllocation);
  if (constexpr size_t kMostFilled = size_t{1} << 20; bytes <= kMostFilled) std::memset(memory, 0xCD, bytes);
  gpu().allocations.emplace(static_cast<char*>(memory), FakeGpu::Allocation{bytes, &sum});
  sum += bytes;
  *address = memory;
  return cudaSuccess;
}

// Waits for everything, as CUDA does.
cudaError_t release(const char* function, void* address) {
  if (const cudaError_t error = gpu().enter(function); error != cudaSuccess) return error;
  Lock lock(gpu().mutex);
  if (address == nullptr) return cudaSuccess;
  const auto block = gpu().allocations.find(static_cast<char*>(address));
  if (block == gpu().allocations.end()) return remember(cudaErrorInvalidValue);
  if (const cudaError_t error = gpu().refuse_during_capture(lock); error != cudaSuccess) return error;
  gpu().changed.wait(lock, [] {
    return gpu().exiting ||
           std::ranges::all_of(gpu().streams, [](const CUstream_st* stream) { return stream->is_idle(); });
  });
  *block->second.sum -= block->second.bytes;
  gpu().allocations.erase(block);
  free(address);
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaDriverGetVersion(int* version) {
  *version = gpu().failures().driver_version;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  if (const cudaError_t error = gpu().enter("cudaGetDeviceCount"); error != cudaSuccess) return error;
  *count = gpu().failures().devices;
  return *count > 0 ? cudaSuccess : remember(cudaErrorNoDevice);
}

cudaError_t cudaGetDevice(int* device) {
  if (const cudaError_t error = gpu().enter("cudaGetDevice"); error != cudaSuccess) return error;
  *device = device_of_this_thread();
  return cudaSuccess;
}

// The device that it leaves may be lost. The new one is current even if its context can't be created: CUDA's
// reference doesn't say which device is current then.
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= gpu().failures().devices) return remember(cudaErrorInvalidDevice);
  device_of_this_thread() = device;
  return gpu().enter("cudaSetDevice");
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (const cudaError_t error = gpu().enter("cudaDeviceGetAttribute"); error != cudaSuccess) return error;
  const int capability = device < gpu().failures().modern_devices ? 90 : gpu().failures().capability;
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount: *value = gpu().failures().multiprocessors; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor: *value = capability / 10; return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor: *value = capability % 10; return cudaSuccess;
    default: return remember(cudaErrorInvalidValue);
  }
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (const cudaError_t error = gpu().enter("cudaGetDeviceProperties"); error != cudaSuccess) return error;
  std::snprintf(properties->name, sizeof properties->name, "emulated GPU %d", device);
  return cudaSuccess;
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorInvalidResourceHandle: return "cudaErrorInvalidResourceHandle";
    case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
    case cudaErrorLaunchOutOfResources: return "cudaErrorLaunchOutOfResources";
    case cudaErrorContextIsDestroyed: return "cudaErrorContextIsDestroyed";
    case cudaErrorStreamCaptureUnsupported: return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorCapturedEvent: return "cudaErrorCapturedEvent";
    default: return "cudaErrorUnknown";
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  if (error == cudaErrorIllegalAddress) return "an illegal memory access was encountered";
  if (error == cudaErrorMemoryAllocation) return "out of memory";
  return "the fake GPU failed";
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (const cudaError_t error = gpu().enter("cudaDeviceCanAccessPeer"); error != cudaSuccess) return error;
  *can = device != peer ? 1 : 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  if (const cudaError_t error = gpu().enter("cudaDeviceEnablePeerAccess"); error != cudaSuccess) return error;
  const Lock lock(gpu().mutex);
  const bool added = gpu().peers.emplace(device_of_this_thread(), peer).second;
  return added ? cudaSuccess : remember(cudaErrorPeerAccessAlreadyEnabled);
}

cudaError_t cudaMalloc(void** address, size_t bytes) {
  return allocate("cudaMalloc", address, bytes, gpu().device_bytes);
}
cudaError_t cudaHostAlloc(void** address, size_t bytes, unsigned) {
  return allocate("cudaHostAlloc", address, bytes, gpu().pinned_bytes);
}
cudaError_t cudaFree(void* address) { return release("cudaFree", address); }
cudaError_t cudaFreeHost(void* address) { return release("cudaFreeHost", address); }

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  if (const cudaError_t error = gpu().enter("cudaMemGetInfo"); error != cudaSuccess) return error;
  const Lock lock(gpu().mutex);
  *total_bytes = kTotalBytes;
  *free_bytes = kTotalBytes - std::min(kTotalBytes, gpu().device_bytes);
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  if (const cudaError_t error = gpu().enter("cudaPointerGetAttributes"); error != cudaSuccess) return error;
  const Lock lock(gpu().mutex);
  attributes->type = gpu().is_ours(lock, address) ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  return cudaSuccess;
}

// Pageable memory is read and written when the stream reaches the copy: CUDA only says that such copies may
// be synchronous.
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  if (const cudaError_t error = gpu().enter("cudaMemcpyAsync"); error != cudaSuccess) return error;
  const Lock lock(gpu().mutex);
  return gpu().enqueue(lock, gpu().find(stream), {[=] { std::memcpy(to, from, bytes); }, nullptr});
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  if (const cudaError_t error = gpu().enter("cudaMemsetAsync"); error != cudaSuccess) return error;
  const Lock lock(gpu().mutex);
  if (!gpu().is_ours(lock, to)) return remember(cudaErrorInvalidValue);
  return gpu().enqueue(lock, gpu().find(stream), {[=] { std::memset(to, value, bytes); }, nullptr});
}
