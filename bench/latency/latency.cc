// Measures how late tiny calls are done while other threads of the process free, allocate and compute.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "other_work.h"
#include "tiny_calls.h"

namespace openaclnn_latency {
namespace {

constexpr const char* kUsage =
    "usage: openaclnn_latency [--rounds N] [--bytes N]\n\n"
    "Measures both phases of a tiny operator and the wait for its stream, one call every 20 us, beside other "
    "work\n"
    "of the process. In each of the rounds (5) every kind of work takes its turn. --bytes is the size of the "
    "large\n"
    "block that is freed, by default a third of the available memory and at most 8 GiB.\n";

struct Options {
  int rounds = 5;
  size_t bytes = 0;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int k = 1; k < argc; k += 2) {
    const std::string name = argv[k];
    const char* const value = k + 1 < argc ? argv[k + 1] : "";
    char* end = nullptr;
    const unsigned long long number = std::strtoull(value, &end, 10);
    const bool is_number = *value != '\0' && *value != '-' && *end == '\0' && number > 0;
    if (!is_number || (name != "--rounds" && name != "--bytes")) {
      std::fputs(kUsage, name == "--help" ? stdout : stderr);
      std::exit(name == "--help" ? 0 : 2);
    }
    if (name == "--rounds") options.rounds = static_cast<int>(std::min(number, 1000ULL));
    if (name == "--bytes") options.bytes = number;
  }
  return options;
}

Summary measure_beside(const OtherWork& work, TinyCalls& calls) {
  std::atomic<bool> prepared{false}, done{false};
  std::thread other([&] {
    if (work.prepare) work.prepare();
    prepared.store(true);
    work.run();
    done.store(true);
  });
  while (!prepared.load()) std::this_thread::yield();
  const Summary summary = calls.run_until(done);
  other.join();
  return summary;
}

double median_of(const std::vector<Summary>& rounds, double Summary::*member) {
  std::vector<double> values;
  for (const Summary& round : rounds) values.push_back(round.*member);
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Takes the round that other programs of the machine disturbed least: the library's own effects occur in
// every round. A round in which the thread hardly ran is not used.
double p999_of_quietest(const std::vector<Summary>& rounds) {
  constexpr size_t kLeastCalls = 200;
  double least = std::numeric_limits<double>::infinity();
  for (const Summary& round : rounds) {
    if (round.calls >= kLeastCalls) least = std::min(least, round.p999);
  }
  return least;
}

void report(const std::vector<OtherWork>& work, const std::vector<std::vector<Summary>>& rounds) {
  const double idle = median_of(rounds[0], &Summary::p999);
  const double quietest_idle = p999_of_quietest(rounds[0]);
  std::string figures;
  const auto figure = [&](const OtherWork& which, const char* name, double us) {
    figures += std::string("figure ") + which.name + name + " " + std::to_string(us) + "\n";
  };
  std::printf("%-50s %8s %8s %12s %10s %10s %12s\n", "us of a tiny call beside", "median", "99.9 %",
              "beyond idle", "quietest", "longest", "with waits");
  for (size_t k = 0; k < work.size(); ++k) {
    const auto us = [&](double Summary::*member) { return 1e6 * median_of(rounds[k], member); };
    const double quietest = p999_of_quietest(rounds[k]);
    const double beyond_idle = us(&Summary::p999) - 1e6 * idle;
    std::printf("%-50s %8.1f %8.0f %12.0f %10.0f %10.0f %12.0f\n", work[k].description.c_str(),
                us(&Summary::median), us(&Summary::p999), beyond_idle, 1e6 * quietest, us(&Summary::longest),
                us(&Summary::p999_with_waits));
    figure(work[k], "_us", us(&Summary::p999));
    figure(work[k], "_beyond_idle_us", beyond_idle);
    figure(work[k], "_quietest_beyond_idle_us", 1e6 * (quietest - quietest_idle));
  }
  std::fputs(figures.c_str(), stdout);
}

int run(int argc, char** argv) {
  Options options = parse(argc, argv);
  if (options.bytes == 0) options.bytes = bytes_to_free();
  const std::vector<OtherWork> work = all_other_work(options.bytes);
  TinyCalls calls;
  (void)measure_beside(work[0], calls);  // warms up
  std::vector<std::vector<Summary>> rounds(work.size());
  size_t least_calls = SIZE_MAX;
  for (int round = 0; round < options.rounds; ++round) {
    for (size_t k = 0; k < work.size(); ++k) {
      rounds[k].push_back(measure_beside(work[k], calls));
      least_calls = std::min(least_calls, rounds[k].back().calls);
    }
  }
  report(work, rounds);
  std::printf("figure rounds %d\nfigure freed_mib %zu\nfigure least_calls %zu\n", options.rounds,
              options.bytes >> 20, least_calls);
  return 0;
}

}  // namespace
}  // namespace openaclnn_latency

int main(int argc, char** argv) { return openaclnn_latency::run(argc, argv); }
