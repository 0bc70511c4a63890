// Measures the calls of a soak per second of processor time, in its best second, which is independent of
// other programs.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <deque>
#include <thread>

namespace openaclnn_test {

class Pace {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Pace(const std::atomic<int64_t>& calls) : calls_(calls) {}

  // Sleeps briefly and reads the number of calls; returns false when `until` has passed.
  bool go_on(Clock::time_point until) {
    const Clock::time_point now = Clock::now();
    if (now >= until) return false;
    marks_.push_back({now, processor_seconds(), calls_});
    while (now - marks_.front().time > std::chrono::seconds(1)) marks_.pop_front();
    const double used = marks_.back().processor_seconds - marks_.front().processor_seconds;
    // A shorter time would give too high a rate: calls are counted when their batch is done.
    if (used > .25)
      best_ = std::max(best_, static_cast<double>(marks_.back().calls - marks_.front().calls) / used);
    std::this_thread::sleep_until(std::min(until, now + std::chrono::milliseconds(50)));
    return true;
  }
  double best() const { return best_; }

 private:
  struct Mark {
    Clock::time_point time;
    double processor_seconds;
    int64_t calls;
  };
  // The processor time of all threads of the process.
  static double processor_seconds() {
    timespec used{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
  }
  const std::atomic<int64_t>& calls_;
  std::deque<Mark> marks_;
  double best_ = 0;
};

}  // namespace openaclnn_test
