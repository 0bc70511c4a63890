// Four threads call every operator for some seconds, with mistakes in between: results stay the same, and the process does not grow.
//   soak [SECONDS]    the seed comes from OPENACLNN_TEST_SEED
// Prints figures for tools/check; exits 1 when anything was wrong. What may grow, and how much, is judged by the caller.
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "ops/room_cases.h"
#include "soak/process_usage.h"
#include "soak/worker.h"

namespace openaclnn_test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kThreads = 4;
constexpr int64_t kMostBytes = 300 << 10;  // enough for cases of every operator

std::vector<Case> chosen_cases() {
  std::vector<Case> chosen;
  for (Case& c : all_cases()) {
    if (Job::bytes_of(c) <= kMostBytes) chosen.push_back(std::move(c));
  }
  return chosen;
}

// What is held until then, all the time.
ProcessUsage watch(Clock::time_point until) {
  ProcessUsage usage = ProcessUsage::now();
  while (Clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    usage = usage.least(ProcessUsage::now());
  }
  return usage;
}

int run(double seconds) {
  const std::vector<Case> cases = chosen_cases();
  Tally tally;
  std::atomic<int> ready{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int k = 0; k < kThreads; ++k) {
    threads.emplace_back([&, k] {
      Worker worker(cases, test_seed() + static_cast<uint64_t>(k), tally);
      if (k == 0)
        std::printf("%zu cases, %zu jobs on each of %d threads\n", cases.size(), worker.jobs(), kThreads);
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      worker.release_workspaces();
      while (!stop) worker.batch();
    });
  }
  while (ready < kThreads) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const Clock::time_point start = Clock::now();
  const auto at = [&](double share) {
    return start +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds * share));
  };
  // Warm: rings and recycled blocks have the size that the work needs.
  std::this_thread::sleep_until(at(.15));
  const ProcessUsage warm = watch(at(.3));
  const int64_t calls_warm = tally.calls;
  std::this_thread::sleep_until(at(.85));
  const ProcessUsage late = watch(at(1));
  const int64_t calls_late = tally.calls;
  stop = true;
  for (std::thread& thread : threads) thread.join();

  std::printf("%s\n", seed_text().c_str());
  const std::pair<const char*, int64_t> figures[] = {
      {"calls", tally.calls},
      {"calls_watched", calls_late - calls_warm},
      {"mistakes", tally.mistakes},
      {"faults", tally.faults},
      {"wrong", tally.wrong},
      {"rss_kib", late.rss_kib},
      {"rss_growth_kib", late.rss_kib - warm.rss_kib},
      {"threads_growth", late.threads - warm.threads},
      {"descriptors_growth", late.descriptors - warm.descriptors},
  };
  for (const auto& [name, value] : figures) std::printf("figure %s %" PRId64 "\n", name, value);
  return tally.wrong == 0 && tally.calls > 0 ? 0 : 1;
}

}  // namespace
}  // namespace openaclnn_test

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  if (argc > 2 || seconds <= 0) {
    std::fprintf(stderr, "usage: soak [SECONDS]\n");
    return 2;
  }
  return openaclnn_test::run(seconds);
}
