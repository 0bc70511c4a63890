// The host interface of CUDA over the fake GPU: streams, events and graphs.
#include <algorithm>
#include <memory>

#include "cuda/simt/fake_gpu.h"

using namespace openaclnn::simt;

namespace {

FakeGpu& gpu() { return FakeGpu::instance(); }

// A query of a stream that captures invalidates the capture; a query of a destroyed stream returns an
// error.
cudaError_t refuse_to_ask(const CUstream_st* stream) {
  if (stream == nullptr) return remember(cudaErrorContextIsDestroyed);
  if (stream->capture == nullptr) return cudaSuccess;
  stream->capture->invalidated = true;
  return remember(cudaErrorStreamCaptureUnsupported);
}

// A query of a point of its graph does the same.
cudaError_t refuse_captured(CUevent_st& event) {
  event.capture->invalidated = true;
  return remember(cudaErrorCapturedEvent);
}

void begin_capture(CUstream_st& stream, cudaStreamCaptureMode mode) {
  stream.capture = std::make_shared<Capture>();
  stream.capture->mode = mode;
  stream.capture->origin = &stream;
}

size_t work_before(const Clock& clock, const CUstream_st* stream) {
  const auto found = clock.find(stream);
  return found != clock.end() ? found->second : 0;
}

// Returns whether the stream that started the capture waits for everything in the others.
bool all_joined(const Capture& capture) {
  const auto origin = capture.behind.find(capture.origin);
  const Clock known = origin != capture.behind.end() ? origin->second : Clock();
  return std::ranges::all_of(capture.behind, [&](const auto& entry) {
    return work_before(known, entry.first) == work_before(entry.second, entry.first);
  });
}

}  // namespace

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (const cudaError_t error = gpu().enter("cudaStreamCreate"); error != cudaSuccess) return error;
  const Lock lock(gpu().mutex);
  auto made = std::make_unique<CUstream_st>();
  made->waits_for_default = flags != cudaStreamNonBlocking;
  made->device = device_of_this_thread();
  gpu().streams.insert(made.get());  // may lack memory
  *stream = made.release();
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* lowest, int* highest) {
  if (const cudaError_t error = gpu().enter("cudaDeviceGetStreamPriorityRange"); error != cudaSuccess)
    return error;
  *lowest = *highest = 0;
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (const cudaError_t error = gpu().enter("cudaStreamDestroy"); error != cudaSuccess) return error;
  Lock lock(gpu().mutex);
  if (gpu().streams.erase(stream) == 0) return remember(cudaErrorInvalidResourceHandle);
  stream->ending = true;  // its thread completes the remaining work
  gpu().changed.notify_all();
  lock.unlock();
  if (stream->thread.joinable()) stream->thread.join();
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (const cudaError_t error = gpu().enter("cudaStreamQuery"); error != cudaSuccess) return error;
  const Lock lock(gpu().mutex);
  const CUstream_st* const asked = gpu().find(stream);
  if (const cudaError_t error = refuse_to_ask(asked); error != cudaSuccess) return error;
  return asked->is_idle() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (const cudaError_t error = gpu().enter("cudaStreamSynchronize"); error != cudaSuccess) return error;
  {
    Lock lock(gpu().mutex);
    const CUstream_st* const awaited = gpu().find(stream);
    if (const cudaError_t error = refuse_to_ask(awaited); error != cudaSuccess) return error;
    gpu().wait_until_idle(lock, *awaited);
  }
  return gpu().enter("after a wait");
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (const cudaError_t error = gpu().enter("cudaStreamWaitEvent"); error != cudaSuccess) return error;
  const Lock lock(gpu().mutex);
  CUstream_st* const target = gpu().find(stream);
  if (target == nullptr) return remember(cudaErrorContextIsDestroyed);
  if (const cudaError_t error = gpu().refuse_lost(*event); error != cudaSuccess) return error;
  if (event->latest == nullptr) return cudaSuccess;
  if (event->capture != nullptr) {
    if (event->capture->ended) return remember(cudaErrorCapturedEvent);
    // The stream joins the capture. Graphs of the fake run in the order of calls, so nothing else is
    // recorded.
    if (target->capture == nullptr) target->capture = event->capture;
    if (target->capture != event->capture) return remember(cudaErrorStreamCaptureMerge);
    for (const auto& [before, work] : event->behind) {
      size_t& known = target->capture->behind[target][before];
      known = std::max(known, work);
    }
    return cudaSuccess;
  }
  if (target->capture != nullptr) {
    target->capture->invalidated = true;  // a graph cannot wait for work outside it
    return remember(cudaErrorStreamCaptureIsolation);
  }
  const auto wait = [point = event->latest] {
    Lock waiting(gpu().mutex);
    gpu().changed.wait(waiting, [&] { return point->reached || gpu().exiting; });
  };
  return gpu().enqueue(lock, target, {wait, nullptr});
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, void (*function)(void*), void* argument) {
  if (const cudaError_t error = gpu().enter("cudaLaunchHostFunc"); error != cudaSuccess) return error;
  const Lock lock(gpu().mutex);
  return gpu().enqueue(lock, gpu().find(stream), {[=] { function(argument); }, nullptr});
}

// ---- events ----

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  if (const cudaError_t error = gpu().enter("cudaEventCreate"); error != cudaSuccess) return error;
  const Lock lock(gpu().mutex);
  *event = *gpu().events.insert(new CUevent_st{device_of_this_thread(), nullptr, nullptr, {}}).first;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (const cudaError_t error = gpu().enter("cudaEventDestroy"); error != cudaSuccess) return error;
  const Lock lock(gpu().mutex);
  if (gpu().events.erase(event) == 0) return remember(cudaErrorInvalidResourceHandle);
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (const cudaError_t error = gpu().enter("cudaEventRecord"); error != cudaSuccess) return error;
  const Lock lock(gpu().mutex);
  CUstream_st* const target = gpu().find(stream);
  if (target == nullptr) return remember(cudaErrorContextIsDestroyed);
  if (gpu().captures_now(lock)) begin_capture(*target, cudaStreamCaptureModeGlobal);
  event->latest = std::make_shared<Point>();
  event->capture = target->capture;
  const cudaError_t error = gpu().enqueue(lock, target, {nullptr, event->latest});
  if (target->capture != nullptr) event->behind = target->capture->behind[target];
  return error;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (const cudaError_t error = gpu().enter("cudaEventQuery"); error != cudaSuccess) return error;
  const Lock lock(gpu().mutex);
  if (const cudaError_t error = gpu().refuse_lost(*event); error != cudaSuccess) return error;
  if (event->capture != nullptr) return refuse_captured(*event);
  return event->latest == nullptr || event->latest->reached ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (const cudaError_t error = gpu().enter("cudaEventSynchronize"); error != cudaSuccess) return error;
  {
    Lock lock(gpu().mutex);
    if (event->capture != nullptr) return refuse_captured(*event);
    const std::shared_ptr<Point> point = event->latest;
    gpu().changed.wait(lock, [&] { return point == nullptr || point->reached || gpu().exiting; });
    if (const cudaError_t error = gpu().refuse_lost(*event); error != cudaSuccess) return error;
  }
  return gpu().enter("after a wait");
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (const cudaError_t error = gpu().enter("cudaEventElapsedTime"); error != cudaSuccess) return error;
  const Lock lock(gpu().mutex);
  if (start->latest == nullptr || end->latest == nullptr) return remember(cudaErrorInvalidResourceHandle);
  if (!start->latest->reached || !end->latest->reached) return cudaErrorNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(end->latest->time - start->latest->time).count();
  return cudaSuccess;
}

// ---- graphs: lists of work ----

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, mode_of_this_thread());
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  if (const cudaError_t error = gpu().enter("cudaStreamIsCapturing"); error != cudaSuccess) return error;
  const Lock lock(gpu().mutex);
  const auto hinders_default = [](const CUstream_st* other) {
    return other->waits_for_default && other->capture != nullptr;
  };
  if (stream == nullptr && std::ranges::any_of(gpu().streams, hinders_default))
    return remember(cudaErrorStreamCaptureImplicit);
  const CUstream_st* const asked = gpu().find(stream);
  if (asked == nullptr) return remember(cudaErrorContextIsDestroyed);
  *status = asked->capture != nullptr ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  const Lock lock(gpu().mutex);
  CUstream_st* const target = gpu().find(stream);
  if (target == nullptr) return remember(cudaErrorContextIsDestroyed);
  begin_capture(*target, mode);
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const Lock lock(gpu().mutex);
  const std::shared_ptr<Capture> ended = stream->capture;
  *graph = nullptr;
  if (ended == nullptr || ended->origin != stream) return remember(cudaErrorStreamCaptureUnmatched);
  const bool is_joined = all_joined(*ended);
  ended->ended = true;
  for (CUstream_st* const joined : gpu().streams) {
    if (joined->capture == ended) joined->capture = nullptr;
  }
  if (ended->invalidated) return remember(cudaErrorStreamCaptureInvalidated);
  if (!is_joined) return remember(cudaErrorStreamCaptureUnjoined);
  *graph = new CUgraph_st{std::move(ended->work)};
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  *exec = new CUgraphExec_st{graph->work};
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  const Lock lock(gpu().mutex);
  for (const Work& work : exec->work) {
    if (const cudaError_t error = gpu().enqueue(lock, gpu().find(stream), work); error != cudaSuccess)
      return error;
  }
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  delete exec;
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
