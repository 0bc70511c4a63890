// Four threads call every operator for some seconds, with injected errors: results stay the same, and the
// process does not grow.
//   soak [SECONDS [CALLS]]    the seed comes from OPENACLNN_TEST_SEED
// It runs for up to twenty times the seconds until it has made the calls: if other programs use the cores it
// takes longer, but makes all its calls. Prints figures for tools/check; exits 1 if there was an error. The
// caller judges the growth.
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include "soak/pace.h"
#include "soak/process_usage.h"
#include "soak/worker.h"
#include "support/verify.h"
#include "verify/room_cases.h"

namespace openaclnn_test {
namespace {

using Clock = Pace::Clock;

constexpr int kThreads = 4;
constexpr int64_t kMostBytes = 300 << 10;  // enough for cases of every operator

std::vector<Case> chosen_cases() {
  std::vector<Case> chosen;
  for (Case& c : all_cases()) {
    if (Job::bytes_of(c) <= kMostBytes) chosen.push_back(std::move(c));
  }
  return chosen;
}

// The resources that are held throughout, until then.
ProcessUsage watch(Pace& pace, Clock::time_point until) {
  ProcessUsage usage = ProcessUsage::now();
  while (pace.go_on(until)) usage = usage.least(ProcessUsage::now());
  return usage;
}

int run(double seconds, int64_t calls) {
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
  const auto after = [&](Clock::time_point from, double share) {
    return from + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds * share));
  };
  Pace pace(tally.calls);
  const auto pass = [&](Clock::time_point until) {
    while (pace.go_on(until)) continue;
  };
  // Warm: rings and recycled blocks have their final size.
  pass(after(start, .15));
  const ProcessUsage warm = watch(pace, after(start, .3));
  const int64_t calls_warm = tally.calls;
  pass(after(start, .85));
  const Clock::time_point give_up = after(start, 20 - .15);
  while (tally.calls < calls && pace.go_on(give_up)) continue;
  const ProcessUsage late = watch(pace, after(Clock::now(), .15));
  const int64_t calls_late = tally.calls;
  const double took = std::chrono::duration<double>(Clock::now() - start).count();
  stop = true;
  for (std::thread& thread : threads) thread.join();

  std::printf("%s\n", seed_text().c_str());
  const std::pair<const char*, int64_t> figures[] = {
      {"calls", tally.calls},
      {"calls_watched", calls_late - calls_warm},
      {"calls_per_processor_second", static_cast<int64_t>(pace.best())},
      {"mistakes", tally.mistakes},
      {"faults", tally.faults},
      {"wrong", tally.wrong},
      {"rss_kib", late.rss_kib},
      {"rss_growth_kib", late.rss_kib - warm.rss_kib},
      {"threads_growth", late.threads - warm.threads},
      {"descriptors_growth", late.descriptors - warm.descriptors},
  };
  for (const auto& [name, value] : figures) std::printf("figure %s %" PRId64 "\n", name, value);
  std::printf("figure seconds %.1f\n", took);
  return tally.wrong == 0 && tally.calls > 0 ? 0 : 1;
}

}  // namespace
}  // namespace openaclnn_test

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  const int64_t calls = argc > 2 ? std::atoll(argv[2]) : 0;
  if (argc > 3 || seconds <= 0 || calls < 0) {
    std::fprintf(stderr, "usage: soak [SECONDS [CALLS]]\n");
    return 2;
  }
  return openaclnn_test::run(seconds, calls);
}
