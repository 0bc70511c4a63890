// The CUDA plugin: implements the table of plugin.h with the CUDA runtime.
#include "cuda/plugin.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "cuda/launch.h"
#include "cuda/launches.h"

namespace openaclnn::cuda {

namespace {

// Drivers support all minor versions of their major version. Kernels with large parameters
// (kMostParameterBytes) need 12.1.
constexpr int needed_driver(int cudart_version) { return std::max(cudart_version / 1000 * 1000, 12010); }
static_assert(needed_driver(12040) == 12010 && needed_driver(13020) == 13000);
constexpr int kNeededDriver = needed_driver(CUDART_VERSION);

// The compute capability that src/CMakeLists.txt compiles for, as 10 * major + minor.
constexpr int kLeastCapability = 80;

thread_local char last_error[256];

cudaStream_t as_stream(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t as_event(void* event) { return static_cast<cudaEvent_t>(event); }

// Errors after which every call of this process on the device fails, according to the CUDA runtime's
// reference. Errors that CUDA 12 headers may lack are listed by number.
bool is_sticky(cudaError_t error) {
  switch (static_cast<int>(error)) {
    case 226:  // cudaErrorContained
    case 721:  // cudaErrorTensorMemoryLeak
    case 810:  // cudaErrorMpsClientTerminated
    case 911:  // cudaErrorExternalDevice
    case cudaErrorCudartUnloading:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorUnknown: return true;
    default: return false;
  }
}

// Returns whether the current device still responds to calls that involve no stream or event.
bool device_answers() {
  size_t free_bytes = 0, total_bytes = 0;
  const bool answers = cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess;
  (void)cudaGetLastError();
  return answers;
}

// Requires that the device of the failed call is current.
PluginStatus judge(cudaError_t error) {
  if (error == cudaSuccess) return PluginStatus::done;
  (void)cudaGetLastError();  // the program may check for its own errors
  if (error == cudaErrorNotReady) return PluginStatus::not_ready;
  std::snprintf(last_error, sizeof last_error, "%s: %s", cudaGetErrorName(error), cudaGetErrorString(error));
  // A stream that the program has destroyed also causes this error.
  if (error == cudaErrorContextIsDestroyed && device_answers()) {
    std::snprintf(last_error, sizeof last_error,
                  "%s: the program has destroyed the stream or event of this call, or reset the device",
                  cudaGetErrorName(error));
    return PluginStatus::refused;
  }
  if (error == kSortScratchTooSmall) {
    std::snprintf(last_error, sizeof last_error,
                  "the plugin was built with a version of CUB whose sort needs more memory than phase 1 "
                  "reserves; build it with the CUB of CUDA 13.0");
    return PluginStatus::refused;
  }
  if (is_sticky(error)) return PluginStatus::lost;
  if (error == cudaErrorCapturedEvent) return PluginStatus::captured;
  return error == cudaErrorMemoryAllocation ? PluginStatus::out_of_memory : PluginStatus::refused;
}

// Makes a device current for one call, and permits the call while another thread captures a graph. Memory and
// events of this library never belong to another thread's graph.
class DeviceScope {
 public:
  explicit DeviceScope(int device) {
    error_ = cudaGetDevice(&before_);
    restore_ = error_ == cudaSuccess && before_ != device;
    // If it fails, for example because memory for a context is lacking, either device may be current.
    if (restore_) error_ = cudaSetDevice(device);
    mode_ = cudaStreamCaptureModeRelaxed;
    if (error_ == cudaSuccess) error_ = cudaThreadExchangeStreamCaptureMode(&mode_);
    exchanged_ = error_ == cudaSuccess;
  }
  ~DeviceScope() {
    if (exchanged_) (void)cudaThreadExchangeStreamCaptureMode(&mode_);
    if (restore_ && cudaSetDevice(before_) != cudaSuccess) (void)cudaGetLastError();
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

  cudaError_t error() const { return error_; }

 private:
  int before_ = 0;
  bool restore_ = false;
  bool exchanged_ = false;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
  cudaError_t error_;
};

template <class Body>
PluginStatus on_device(int device, const Body& body) {
  const DeviceScope scope(device);
  return judge(scope.error() != cudaSuccess ? scope.error() : body());
}

// Returns the version that the kernel module reports, such as "580.65.06", or an empty string without one.
std::string kernel_module_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  for (std::string word; file >> word;) {
    if (word.find_first_not_of("0123456789.") == std::string::npos && word.find('.') != std::string::npos)
      return word;
  }
  return {};
}

std::string cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string no_answer(cudaError_t error) {
  return std::string("the driver does not respond: ") + cudaGetErrorName(error) + ": " +
         cudaGetErrorString(error);
}

// Sets capability to 10 * major + minor.
cudaError_t get_capability(int device, int& capability) {
  int major = 0, minor = 0;
  cudaError_t error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  capability = 10 * major + minor;
  return error;
}

std::string too_old(int device, int capability) {
  cudaDeviceProp properties = {};
  if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) (void)cudaGetLastError();
  const auto text_of = [](int number) {
    return std::to_string(number / 10) + "." + std::to_string(number % 10);
  };
  return "GPU too old: device " + std::to_string(device) + " (" + properties.name +
         ") has compute capability " + text_of(capability) + ", but this plugin needs " +
         text_of(kLeastCapability) + " or later";
}

// Omits GPUs that the driver runs but that this plugin has no code for. Ids stay those of CUDA, which lists
// the fastest GPU first, so the devices before the first old one remain. Returns the reason if none remain.
std::string leave_out_old(int& count) {
  for (int device = 0; device < count; ++device) {
    int capability = 0;
    const cudaError_t error = get_capability(device, capability);
    if (error == cudaSuccess && capability >= kLeastCapability) continue;
    if (error != cudaSuccess) (void)cudaGetLastError();
    count = device;
    if (device > 0) return {};
    return error != cudaSuccess ? no_answer(error) : too_old(device, capability);
  }
  return {};
}

// Returns why there is no device, or an empty string and the number of devices.
std::string count_devices(int& count) {
  int driver = 0;
  count = 0;
  (void)cudaDriverGetVersion(&driver);
  if (driver == 0) return "no driver: libcuda.so.1 of an NVIDIA driver was not found or failed to load";
  if (driver < kNeededDriver) {
    const std::string module = kernel_module_version();
    return "driver too old: " + (module.empty() ? "it" : "version " + module) + " supports CUDA " +
           cuda_version(driver) + ", but this plugin needs CUDA " + cuda_version(kNeededDriver) + " (" +
           (kNeededDriver >= 13000 ? "driver 580" : "driver 530") + " or later)";
  }
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return leave_out_old(count);
  (void)cudaGetLastError();
  count = 0;
  if (error != cudaSuccess && error != cudaErrorNoDevice) return no_answer(error);
  return "no GPU: the driver sees no CUDA device";
}

int device_count(const char** why_none) {
  thread_local char why[256];
  int count = 0;
  const std::string reason = count_devices(count);
  std::snprintf(why, sizeof why, "%s", reason.c_str());
  *why_none = why;
  return count;
}

const char* error_text() { return last_error; }

PluginStatus device_name(int device, const char** name) {
  thread_local cudaDeviceProp properties;
  *name = properties.name;
  return on_device(device, [&] { return cudaGetDeviceProperties(&properties, device); });
}

// ---- Memory ----

PluginStatus allocate(int device, size_t bytes, void** address) {
  return on_device(device, [&] { return cudaMalloc(address, bytes); });
}
PluginStatus free_memory(int device, void* address) {
  return on_device(device, [&] { return cudaFree(address); });
}
PluginStatus allocate_host(int device, size_t bytes, void** address) {
  return on_device(
      device, [&] { return cudaHostAlloc(address, bytes, cudaHostAllocPortable | cudaHostAllocMapped); });
}
PluginStatus free_host(int device, void* address) {
  return on_device(device, [&] { return cudaFreeHost(address); });
}
PluginStatus memory_info(int device, size_t* free_bytes, size_t* total_bytes) {
  return on_device(device, [&] { return cudaMemGetInfo(free_bytes, total_bytes); });
}

PluginStatus can_access_peer(int device, int peer, int* can) {
  return on_device(device, [&] { return cudaDeviceCanAccessPeer(can, device, peer); });
}
PluginStatus enable_peer_access(int device, int peer) {
  return on_device(device, [&] {
    const cudaError_t error = cudaDeviceEnablePeerAccess(peer, 0);
    if (error != cudaErrorPeerAccessAlreadyEnabled) return error;
    (void)cudaGetLastError();
    return cudaSuccess;
  });
}

// ---- Streams ----

PluginStatus create_stream(int device, void** stream) {
  return on_device(device, [&] {
    cudaStream_t made = nullptr;
    const cudaError_t error = cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    *stream = made;
    return error;
  });
}
PluginStatus destroy_stream(int device, void* stream) {
  return on_device(device, [&] { return cudaStreamDestroy(as_stream(stream)); });
}
PluginStatus query_stream(int device, void* stream) {
  return on_device(device, [&] { return cudaStreamQuery(as_stream(stream)); });
}
PluginStatus synchronize_stream(int device, void* stream) {
  return on_device(device, [&] { return cudaStreamSynchronize(as_stream(stream)); });
}
PluginStatus is_capturing(int device, void* stream, int* capturing) {
  return on_device(device, [&] {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaError_t error = cudaStreamIsCapturing(as_stream(stream), &status);
    if (error == cudaErrorStreamCaptureImplicit) {
      // CUDA's default stream waits for streams that are being captured, so nothing can be recorded there
      // either.
      (void)cudaGetLastError();
      *capturing = 1;
      return cudaSuccess;
    }
    *capturing = status != cudaStreamCaptureStatusNone ? 1 : 0;
    return error;
  });
}
bool is_pageable(const void* address) {
  cudaPointerAttributes attributes = {};
  const cudaError_t error = cudaPointerGetAttributes(&attributes, address);
  if (error != cudaSuccess) (void)cudaGetLastError();
  return error != cudaSuccess || attributes.type == cudaMemoryTypeUnregistered;
}
PluginStatus copy_async(int device, void* stream, void* destination, const void* source, size_t bytes,
                        int* pageable) {
  return on_device(device, [&] {
    *pageable = is_pageable(destination) || is_pageable(source) ? 1 : 0;
    return cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDefault, as_stream(stream));
  });
}
PluginStatus fill_async(int device, void* stream, void* destination, int value, size_t bytes) {
  return on_device(device, [&] { return cudaMemsetAsync(destination, value, bytes, as_stream(stream)); });
}
PluginStatus call_async(int device, void* stream, void (*function)(void*), void* argument) {
  return on_device(device, [&] { return cudaLaunchHostFunc(as_stream(stream), function, argument); });
}

PluginStatus run(int device, void* stream, const OperatorTask* task) {
  const LaunchFunction launch = find_launch(task->name);
  if (launch == nullptr) {
    std::snprintf(last_error, sizeof last_error, "%s has no CUDA kernel", task->name);
    return PluginStatus::refused;
  }
  return on_device(device, [&] {
    return launch(task->plan, {*task->data, task->workspace, task->check, task->elements, as_stream(stream),
                               task->fault, task->piece, task->side});
  });
}

// ---- Events ----

PluginStatus create_event(int device, int timed, void** event) {
  return on_device(device, [&] {
    cudaEvent_t made = nullptr;
    const cudaError_t error =
        cudaEventCreateWithFlags(&made, timed != 0 ? cudaEventDefault : cudaEventDisableTiming);
    *event = made;
    return error;
  });
}
PluginStatus destroy_event(int device, void* event) {
  return on_device(device, [&] { return cudaEventDestroy(as_event(event)); });
}
PluginStatus record_event(int device, void* event, void* stream) {
  return on_device(device, [&] { return cudaEventRecord(as_event(event), as_stream(stream)); });
}
PluginStatus query_event(int device, void* event) {
  return on_device(device, [&] { return cudaEventQuery(as_event(event)); });
}
PluginStatus synchronize_event(int device, void* event) {
  return on_device(device, [&] { return cudaEventSynchronize(as_event(event)); });
}
PluginStatus wait_event(int device, void* stream, void* event) {
  return on_device(device, [&] { return cudaStreamWaitEvent(as_stream(stream), as_event(event), 0); });
}
PluginStatus elapsed(int device, void* start, void* end, float* milliseconds) {
  return on_device(device,
                   [&] { return cudaEventElapsedTime(milliseconds, as_event(start), as_event(end)); });
}

constexpr PluginTable kTable = {
    .table_bytes = sizeof(PluginTable),
    .build = OPENACLNN_CUDA_BUILD,
    .device_count = device_count,
    .error_text = error_text,
    .device_name = device_name,
    .allocate = allocate,
    .free = free_memory,
    .allocate_host = allocate_host,
    .free_host = free_host,
    .memory_info = memory_info,
    .can_access_peer = can_access_peer,
    .enable_peer_access = enable_peer_access,
    .create_stream = create_stream,
    .destroy_stream = destroy_stream,
    .query_stream = query_stream,
    .synchronize_stream = synchronize_stream,
    .is_capturing = is_capturing,
    .copy_async = copy_async,
    .fill_async = fill_async,
    .call_async = call_async,
    .run = run,
    .create_event = create_event,
    .destroy_event = destroy_event,
    .record_event = record_event,
    .query_event = query_event,
    .synchronize_event = synchronize_event,
    .wait_event = wait_event,
    .elapsed = elapsed,
};

}  // namespace

}  // namespace openaclnn::cuda

extern "C" __attribute__((visibility("default"))) const openaclnn::cuda::PluginTable*
openaclnn_cuda_plugin() {
  return &openaclnn::cuda::kTable;
}
