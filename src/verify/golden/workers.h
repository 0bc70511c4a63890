// Threads of goldens: each takes the next range of a loop until none is left.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>

namespace openaclnn_verify {

// Ranges of 0 to count, handed out in order.
class Ranges {
 public:
  Ranges(int64_t count, int64_t grain) : count_(count), grain_(grain) {}

  // The number of ranges.
  int64_t size() const { return (count_ + grain_ - 1) / grain_; }
  // Returns false if no range is left.
  bool next(int64_t& begin, int64_t& end) {
    begin = next_.fetch_add(grain_, std::memory_order_relaxed);
    if (begin >= count_) return false;
    end = std::min(begin + grain_, count_);
    return true;
  }

 private:
  const int64_t count_, grain_;
  std::atomic<int64_t> next_{0};
};

// Calls work() in this thread and in up to threads - 1 others, fewer if the system allows fewer. 0 threads: one per
// CPU that the process may use. Throws the first exception after all threads have ended.
void run_workers(int threads, int64_t most, const std::function<void()>& work);

// Calls body(begin, end) for ranges of 0 to count, in several threads.
void for_each_range(int64_t count, int64_t grain, int threads,
                    const std::function<void(int64_t, int64_t)>& body);

}  // namespace openaclnn_verify
