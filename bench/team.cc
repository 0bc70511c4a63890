// The team of reference threads: woken by a counter, kept in step by another.
#include "team.h"

#include <chrono>

namespace openaclnn_bench {

Team::Team(int threads) : threads_(threads) {
  for (int thread = 1; thread < threads; ++thread) helpers_.emplace_back([this, thread] { help(thread); });
}

Team::~Team() {
  stopping_ = true;
  ++run_;
  run_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void Team::make_calls(int thread) {
  for (int64_t call = 1; call <= calls_; ++call) {
    (*body_)(thread);
    finished_calls_.fetch_add(1);
    while (finished_calls_.load() < call * threads_) {
    }
  }
}

void Team::help(int thread) {
  for (uint32_t seen = 0;; ++seen) {
    run_.wait(seen);
    if (stopping_) return;
    ++awake_;
    while (started_.load() != seen + 1) {
    }
    make_calls(thread);
    ++left_;
  }
}

double Team::run(int calls, const std::function<void(int)>& body) {
  body_ = &body;
  calls_ = calls;
  awake_ = 0;
  left_ = 0;
  finished_calls_ = 0;
  ++run_;
  run_.notify_all();
  while (awake_.load() < threads_ - 1) {
  }
  const auto start = std::chrono::steady_clock::now();
  started_ = run_.load();
  make_calls(0);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  while (left_.load() < threads_ - 1) {
  }
  return elapsed.count();
}

}  // namespace openaclnn_bench
