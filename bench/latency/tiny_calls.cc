// Calls of a tiny operator at fixed times.
#include "tiny_calls.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "aclnnop/aclnn_apply_fused_ema_adam.h"

namespace openaclnn_latency {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kInterval = 20e-6;
constexpr size_t kMostLatencies = 4'000'000;

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

// Returns how long this thread has been ready to run without a core; always 0 if the kernel does not count
// it.
class WaitsForACore {
 public:
  WaitsForACore() : file_(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}
  ~WaitsForACore() {
    if (file_ >= 0) close(file_);
  }
  WaitsForACore(const WaitsForACore&) = delete;
  WaitsForACore& operator=(const WaitsForACore&) = delete;

  double seconds() const {
    char text[128] = {};
    if (file_ < 0 || pread(file_, text, sizeof text - 1, 0) <= 0) return 0;
    unsigned long long ran = 0, waited = 0;
    return std::sscanf(text, "%llu %llu", &ran, &waited) == 2 ? static_cast<double>(waited) * 1e-9 : 0;
  }

 private:
  int file_;
};

// Spins for the interval. Returns whether another program took the core.
bool pause_was_interrupted() {
  const Clock::time_point start = Clock::now();
  Clock::time_point before = start;
  bool interrupted = false;
  while (seconds(before - start) < kInterval) {
    const Clock::time_point now = Clock::now();
    interrupted = interrupted || seconds(now - before) > kInterval / 4;
    before = now;
  }
  return interrupted;
}

// Includes the waits of the calls that would have started during this one.
void add(std::vector<float>& latencies, double latency) {
  do {
    latencies.push_back(static_cast<float>(latency));
    latency -= kInterval;
  } while (latency > kInterval && latencies.size() < kMostLatencies);
}

double percentile(std::vector<float>& values, double share) {
  if (values.empty()) return 0;
  const auto at = values.begin() + static_cast<long>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

void require(int code, int expected) {
  if (code == expected) return;
  const char* const text = aclGetRecentErrMsg();
  std::fprintf(stderr, "openaclnn-latency: code %d: %s\n", code, text != nullptr ? text : "no error message");
  std::exit(2);
}

TinyCalls::TinyCalls() {
  require(aclrtSetDevice(0));
  require(aclrtCreateStream(&stream_));
  const int64_t four[] = {4}, one[] = {1};
  for (float(&values)[4] : values_)
    tensors_.push_back(aclCreateTensor(four, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, four, 1, values));
  tensors_.push_back(aclCreateTensor(one, 1, ACL_INT64, nullptr, 0, ACL_FORMAT_ND, one, 1, &step_));
  for (std::vector<float>* all : {&latencies_, &latencies_with_waits_}) all->resize(kMostLatencies);
}

TinyCalls::~TinyCalls() {
  for (const aclTensor* tensor : tensors_) aclDestroyTensor(tensor);
  aclrtDestroyStream(stream_);
}

void TinyCalls::call() {
  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
  const auto& t = tensors_;
  require(aclnnApplyFusedEmaAdamGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], 1e-3, 0.999, 0.9, 0.999,
                                                 1e-8, 1, true, 0.01, &bytes, &executor));
  require(aclnnApplyFusedEmaAdam(nullptr, 0, executor, stream_));
  require(aclrtSynchronizeStream(stream_));
}

Summary TinyCalls::run_until(const std::atomic<bool>& stop) {
  latencies_.clear();
  latencies_with_waits_.clear();
  const WaitsForACore waits;
  double waited = waits.seconds();
  Summary summary;
  while (!stop.load(std::memory_order_relaxed) && latencies_with_waits_.size() < kMostLatencies) {
    if (pause_was_interrupted()) waited = waits.seconds();
    const Clock::time_point start = Clock::now();
    call();
    const double latency = seconds(Clock::now() - start);
    double without_waits = latency;
    if (latency > kInterval) {
      const double now = waits.seconds();
      without_waits = std::max(0.0, latency - (now - waited));
      waited = now;
    }
    add(latencies_, without_waits);
    add(latencies_with_waits_, latency);
    ++summary.calls;
  }
  summary.median = percentile(latencies_, 0.5);
  summary.p999 = percentile(latencies_, 0.999);
  summary.longest = percentile(latencies_, 1);
  summary.p999_with_waits = percentile(latencies_with_waits_, 0.999);
  return summary;
}

}  // namespace openaclnn_latency
