// The state of the fake GPU: streams that run their work on separate threads, events, graphs, and failures
// to inject.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// A record of an event. Guarded by the GPU's lock.
struct Point {
  bool reached = false;
  std::chrono::steady_clock::time_point time;
};

// A piece of a stream's work: a function, or a point to reach.
struct Work {
  std::function<void()> run;
  std::shared_ptr<Point> point;
};

// The work that precedes a stream's next work: for each stream of a capture, how much of its work.
using Clock = std::map<const CUstream_st*, size_t>;

// A capture in progress, of all streams that joined it. Guarded by the GPU's lock.
struct Capture {
  const CUstream_st* origin = nullptr;
  std::map<const CUstream_st*, Clock> behind;
  std::vector<Work> work;
  cudaStreamCaptureMode mode;
  bool invalidated = false;
  bool ended = false;
};

struct CUevent_st {
  int device = 0;
  std::shared_ptr<Point> latest;
  std::shared_ptr<Capture> capture;  // the capture of the latest record
  Clock behind;                      // the position in it
};

struct CUgraph_st {
  std::vector<Work> work;
};
struct CUgraphExec_st {
  std::vector<Work> work;
};

// Guarded by the GPU's lock.
struct CUstream_st {
  std::thread thread;  // started by the first piece of work
  std::deque<Work> work;
  bool running = false;
  bool ending = false;
  bool waits_for_default = false;  // made without cudaStreamNonBlocking
  int device = 0;
  std::shared_ptr<Capture> capture;  // nullptr: none at present

  bool is_idle() const { return work.empty() && !running; }
};

namespace openaclnn::simt {

using Lock = std::unique_lock<std::mutex>;

// Failures that tests request.
struct Failures {
  int driver_version = CUDART_VERSION;
  int devices = 1;
  int capability = 90;      // 10 * major + minor
  int multiprocessors = 1;  // few, so that loops over grids go round
  int modern_devices = 0;   // the first devices that have 9.0 whatever `capability` says
  std::string function;     // its call number `call` fails with `error`
  unsigned long call = 0;
  cudaError_t error = cudaErrorMemoryAllocation;
  unsigned long sticky_at_launch = 0;  // this launch destroys the context; 0: none
  // This record of an event finds that its stream has just begun a capture; 0: none.
  unsigned long capture_at_record = 0;
  unsigned delay_microseconds = 0;  // delay before every piece of work
  bool holds_work = false;          // no piece of work begins
};

class FakeGpu {
 public:
  static FakeGpu& instance();

  std::mutex mutex;
  std::condition_variable changed;  // notified when a stream becomes idle, or a point was reached
  std::set<CUstream_st*> streams;
  std::set<CUevent_st*> events;  // those of a lost device are never destroyed, and belong to the driver
  struct Allocation {
    size_t bytes;
    size_t* sum;  // the sum that counts it
  };
  std::map<const char*, Allocation> allocations;
  std::set<std::pair<int, int>> peers;  // which device may reach which
  size_t device_bytes = 0, pinned_bytes = 0;
  bool host_memory_is_ours = false;  // kernels of tests work on memory that the tests allocated
  bool exiting = false;

  // Start of every call: counts it, and returns the error that it must fail with.
  cudaError_t enter(const char* function);
  void set_failures(const char* description);
  const Failures& failures() const { return failures_; }
  unsigned long calls() const { return calls_; }

  // Puts a kernel on a stream; `run` executes it in its turn.
  cudaError_t launch(CUstream_st* stream, std::function<void()> kernel);
  // Puts work on a stream, or into the graph that it captures.
  cudaError_t enqueue(const Lock& lock, CUstream_st* stream, Work work);
  // Returns a live stream, or nullptr, for example for a destroyed one. The default stream has two names.
  CUstream_st* find(CUstream_st* stream);
  void wait_until_idle(Lock& lock, const CUstream_st& stream);
  bool may_launch(int device);  // false once the device's context is destroyed
  // Calls about an event also fail if the device of the event is lost, whatever device is current.
  cudaError_t refuse_lost(const CUevent_st& event);
  // A test requested a capture that starts at this record.
  bool captures_now(const Lock& lock);
  bool is_ours(const Lock& lock, const void* address) const;
  // A call that may disturb any capture in progress.
  cudaError_t refuse_during_capture(const Lock& lock);

 private:
  FakeGpu();
  void serve(CUstream_st& stream);
  void shut_down();

  CUstream_st default_stream_;
  Failures failures_;
  std::map<std::string, unsigned long> calls_of_;
  unsigned long calls_ = 0;
  unsigned long launches_ = 0;
  std::atomic<int> lost_device_{-1};
};

// Stores the error for cudaGetLastError.
cudaError_t remember(cudaError_t error);
cudaStreamCaptureMode& mode_of_this_thread();
int& device_of_this_thread();

}  // namespace openaclnn::simt
