// The team of reference threads: one counter wakes them, another synchronises them.
#include "team.h"

#include <chrono>

namespace openaclnn_bench {

namespace {

// Waits in a loop. If it takes long, another program has the core that a thread needs: then the loop yields
// the core.
template <class Done>
void spin_until(const Done& done) {
  constexpr int kSpins = 20000;  // some ten microseconds
  for (int spins = 0; !done(); ++spins) {
    if (spins > kSpins) std::this_thread::yield();
  }
}

}  // namespace

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
    spin_until([&] { return finished_calls_.load() >= call * threads_; });
  }
}

void Team::help(int thread) {
  for (uint32_t seen = 0;; ++seen) {
    run_.wait(seen);
    if (stopping_) return;
    ++awake_;
    spin_until([&] { return started_.load() == seen + 1; });
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
  spin_until([&] { return awake_.load() == threads_ - 1; });
  const auto start = std::chrono::steady_clock::now();
  started_ = run_.load();
  make_calls(0);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  spin_until([&] { return left_.load() == threads_ - 1; });
  return elapsed.count();
}

}  // namespace openaclnn_bench
