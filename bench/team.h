// Threads for the reference kernels: they start together, spin between the calls of one run, and sleep
// between runs, so that they never compete with the next contestant.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace openaclnn_bench {

class Team {
 public:
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int threads() const { return threads_; }

  // Calls body(thread) `calls` times on every thread of the team, including the calling one. No thread
  // starts its next call before all have finished this one. Returns the seconds, without the time to wake
  // the helpers.
  double run(int calls, const std::function<void(int thread)>& body);

 private:
  void help(int thread);
  void make_calls(int thread);

  const int threads_;
  const std::function<void(int)>* body_ = nullptr;
  int calls_ = 0;
  bool stopping_ = false;
  std::atomic<uint32_t> run_{0};      // helpers sleep until it changes
  std::atomic<uint32_t> started_{0};  // equal to run_ once the calls may begin
  std::atomic<int> awake_{0};
  std::atomic<int> left_{0};
  std::atomic<int64_t> finished_calls_{0};  // of all threads
  std::vector<std::thread> helpers_;
};

}  // namespace openaclnn_bench
