// Calls of a tiny operator at fixed times, and the delay of each.
#pragma once

#include <atomic>
#include <vector>

#include "acl/acl.h"
#include "aclnn/aclnn_base.h"

namespace openaclnn_latency {

// Ends the program with the library's error message when `code` is not `expected`.
void require(int code, int expected = 0);

struct Summary {
  double median = 0;  // seconds
  double p999 = 0;    // 99.9 % took at most this long
  double longest = 0;
  double p999_with_waits = 0;  // as p999, but also counts waits for a core
  size_t calls = 0;
};

// Both phases of aclnnApplyFusedEmaAdam on four elements and the wait, on a stream of their own. All on one thread.
//
// Latencies are those of calls at any moment, not of the calls made: a stall of 40 ms hits one call here,
// but 2000 calls of a program that makes one every 20 us. A call that took longer than the interval
// therefore counts for those that would have started during it. Each of them would have waited for the rest
// of it. Time in which other threads had the core is subtracted, as far as the kernel counts it: that is
// the scheduler's choice, not the library's.
class TinyCalls {
 public:
  TinyCalls();
  ~TinyCalls();

  // One call every 20 us until `stop`.
  Summary run_until(const std::atomic<bool>& stop);

 private:
  void call();

  aclrtStream stream_ = nullptr;
  float values_[5][4] = {};
  int64_t step_ = 10;
  std::vector<aclTensor*> tensors_;
  std::vector<float> latencies_, latencies_with_waits_;  // of one run; they have their pages
};

}  // namespace openaclnn_latency
