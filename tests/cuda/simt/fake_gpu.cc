// Streams of the fake GPU, and the failures that a test requests.
#include "cuda/simt/fake_gpu.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <utility>

namespace openaclnn::simt {

namespace {

thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

FakeGpu& FakeGpu::instance() {
  static FakeGpu* const gpu = new FakeGpu;  // never destroyed: its threads outlive main
  return *gpu;
}

FakeGpu::FakeGpu() {
  streams.insert(&default_stream_);
  set_failures(std::getenv("OPENACLNN_FAKE_CUDA"));
  std::atexit([] { instance().shut_down(); });
}

// Words: driver=VERSION devices=N capability=MAJOR_AND_MINOR multiprocessors=N modern=N
// fail=FUNCTION:CALL[:ERROR] sticky=LAUNCH capture=RECORD slow=MICROSECONDS held. CALL starts at 1 and
// counts the calls of that function; "any" counts all calls, and "launch" launches of kernels. The program
// starts a capture of the stream of that record (of an event) just before it.
void FakeGpu::set_failures(const char* description) {
  failures_ = Failures();
  calls_of_.clear();
  calls_ = launches_ = 0;
  lost_device_ = -1;
  changed.notify_all();
  std::istringstream words(description != nullptr ? description : "");
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
    if (name == "driver") {
      failures_.driver_version = std::stoi(value);
    } else if (name == "devices") {
      failures_.devices = std::stoi(value);
    } else if (name == "capability") {
      failures_.capability = std::stoi(value);
    } else if (name == "multiprocessors") {
      failures_.multiprocessors = std::stoi(value);
    } else if (name == "modern") {
      failures_.modern_devices = std::stoi(value);
    } else if (name == "sticky") {
      failures_.sticky_at_launch = std::stoul(value);
    } else if (name == "capture") {
      failures_.capture_at_record = std::stoul(value);
    } else if (name == "slow") {
      failures_.delay_microseconds = static_cast<unsigned>(std::stoul(value));
    } else if (name == "held") {
      failures_.holds_work = true;
    } else if (name == "fail") {
      std::istringstream parts(value);
      std::string call, error;
      std::getline(parts, failures_.function, ':');
      std::getline(parts, call, ':');
      failures_.call = std::stoul(call);
      if (std::getline(parts, error)) failures_.error = static_cast<cudaError_t>(std::stoi(error));
    } else {
      std::fprintf(stderr, "OPENACLNN_FAKE_CUDA does not know '%s'\n", word.c_str());
      std::abort();
    }
  }
}

cudaError_t FakeGpu::enter(const char* function) {
  if (lost_device_ == device_of_this_thread()) return remember(cudaErrorIllegalAddress);
  const Lock lock(mutex);
  ++calls_;
  const unsigned long call = ++calls_of_[function];
  const bool fails = (failures_.function == function && failures_.call == call) ||
                     (failures_.function == "any" && failures_.call == calls_);
  return fails ? remember(failures_.error) : cudaSuccess;
}

bool FakeGpu::may_launch(int device) {
  const Lock lock(mutex);
  if (++launches_ == failures_.sticky_at_launch) lost_device_ = device;
  return lost_device_ != device;
}

cudaError_t FakeGpu::refuse_lost(const CUevent_st& event) {
  return lost_device_ == event.device ? remember(cudaErrorIllegalAddress) : cudaSuccess;
}

CUstream_st* FakeGpu::find(CUstream_st* stream) {
  if (stream == nullptr || stream == cudaStreamLegacy) return &default_stream_;
  return streams.contains(stream) ? stream : nullptr;
}

bool FakeGpu::captures_now(const Lock&) {
  return failures_.capture_at_record != 0 && calls_of_["cudaEventRecord"] == failures_.capture_at_record;
}

cudaError_t FakeGpu::launch(CUstream_st* stream, std::function<void()> kernel) {
  if (const cudaError_t error = enter("launch"); error != cudaSuccess) return error;
  const Lock lock(mutex);
  CUstream_st* const target = find(stream);
  if (target == nullptr) return remember(cudaErrorContextIsDestroyed);
  const auto work = [this, kernel = std::move(kernel), device = target->device] {
    if (may_launch(device)) kernel();
  };
  return enqueue(lock, target, {work, nullptr});
}

cudaError_t FakeGpu::enqueue(const Lock&, CUstream_st* stream, Work work) {
  if (stream == nullptr) return remember(cudaErrorContextIsDestroyed);
  if (stream->capture != nullptr) {
    stream->capture->work.push_back(std::move(work));
    ++stream->capture->behind[stream][stream];
    return cudaSuccess;
  }
  if (exiting) return remember(cudaErrorCudartUnloading);
  stream->work.push_back(std::move(work));
  if (!stream->thread.joinable()) stream->thread = std::thread([this, stream] { serve(*stream); });
  changed.notify_all();
  return cudaSuccess;
}

void FakeGpu::serve(CUstream_st& stream) {
  Lock lock(mutex);
  for (;;) {
    changed.wait(lock, [&] {
      return (!stream.work.empty() && !failures_.holds_work) || (stream.work.empty() && stream.ending) ||
             exiting;
    });
    if (stream.work.empty() || exiting) return;
    const Work work = std::move(stream.work.front());
    stream.work.pop_front();
    if (work.point != nullptr) {
      work.point->reached = true;
      work.point->time = std::chrono::steady_clock::now();
      changed.notify_all();
      continue;
    }
    stream.running = true;
    const auto delay = std::chrono::microseconds(failures_.delay_microseconds);
    lock.unlock();
    if (delay.count() > 0) std::this_thread::sleep_for(delay);
    work.run();
    lock.lock();
    stream.running = false;
    changed.notify_all();
  }
}

void FakeGpu::wait_until_idle(Lock& lock, const CUstream_st& stream) {
  changed.wait(lock, [&] { return stream.is_idle() || exiting; });
}

// As in the driver's own handler: work that has not started is dropped, running work is waited for.
void FakeGpu::shut_down() {
  Lock lock(mutex);
  exiting = true;
  changed.notify_all();
  std::vector<std::thread> threads;
  for (CUstream_st* stream : streams) {
    if (stream->thread.joinable()) threads.push_back(std::move(stream->thread));
  }
  lock.unlock();
  for (std::thread& thread : threads) thread.join();
}

bool FakeGpu::is_ours(const Lock&, const void* address) const {
  if (host_memory_is_ours) return true;
  auto after = allocations.upper_bound(static_cast<const char*>(address));
  if (after == allocations.begin()) return false;
  --after;
  return static_cast<size_t>(static_cast<const char*>(address) - after->first) < after->second.bytes;
}

cudaError_t FakeGpu::refuse_during_capture(const Lock&) {
  if (mode_of_this_thread() == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  for (CUstream_st* stream : streams) {
    if (stream->capture == nullptr || stream->capture->mode != cudaStreamCaptureModeGlobal) continue;
    stream->capture->invalidated = true;
    return remember(cudaErrorStreamCaptureUnsupported);
  }
  return cudaSuccess;
}

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
  return error;
}

int& device_of_this_thread() {
  thread_local int device = 0;
  return device;
}

cudaStreamCaptureMode& mode_of_this_thread() {
  thread_local cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  return mode;
}

}  // namespace openaclnn::simt

using namespace openaclnn::simt;

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }

size_t openaclnn_fake_cuda_pinned_bytes() {
  FakeGpu& gpu = FakeGpu::instance();
  const Lock lock(gpu.mutex);
  return gpu.pinned_bytes;
}

unsigned long openaclnn_fake_cuda(const char* failures) {
  FakeGpu& gpu = FakeGpu::instance();
  const Lock lock(gpu.mutex);
  const unsigned long calls = gpu.calls();
  gpu.set_failures(failures);
  return calls;
}
