// Failure injection: every scenario runs once for each of its requests, in a separate process. In that
// process either this request fails, or this one and all later ones until the call returns. Afterwards the
// call must work, the results must be those of an undisturbed run, and nothing may be left over.
//
//   failures [--share k/n] [--step n] [--only TEXT]    TEXT: part of a scenario's name; step n: every n-th request only
//   failures --point NAME FIRST one|all                one run again, in this process
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <new>
#include <string_view>

#include "acl/acl.h"
#include "failures/attempt.h"
#include "runtime/failing_resources.h"

namespace failures {
namespace {

using namespace runtime_test;

// A child's report to its parent, in memory that both share.
struct Report {
  long requests;  // in steps
  long refused[kRequests];
  long failed_steps, covered_steps;
  long leaked_allocations, leaked_bytes, leaked_files;
  Held held;
  uint64_t hash;
  bool finished;
};

struct Totals {
  long points = 0, survived = 0, leaks = 0, failed_steps = 0, covered_steps = 0;
  long by_request[kRequests] = {};
};

long entries(const char* folder) {
  const auto listed = std::filesystem::directory_iterator(folder);
  return std::distance(begin(listed), end(listed));
}

// More than the lists of recycled blocks of all threads can keep.
constexpr int kRepeats = 300;

bool exceeds(const Held& now, const Held& then, long by) {
  return now.allocations > then.allocations + by || now.mapped_bytes > then.mapped_bytes + by * 4096 ||
         now.files > then.files + by;
}

// Runs one scenario with one injection in a process that has not used the library yet.
void run_point(const Scenario& scenario, const Injection& injection, int repeats, Report& report) {
  alarm(60);  // a hang ends the process
  for (const auto& [name, value] : scenario.environment) setenv(name, value, 1);
  const long open_before = entries("/proc/self/fd");
  Attempt attempt;
  inject(injection);
  attempt.start_run(true, repeats);
  scenario.run(attempt);
  report.requests = requests();
  const uint64_t hash = attempt.hash();
  for (int k = 0; k < kRequests; ++k) report.refused[k] = refused(static_cast<Request>(k));
  // Runs again, undisturbed: memory for later calls exists now, so additional memory is a leak.
  for (int again = 0; again < 2; ++again) {
    inject({-1, false});
    attempt.start_run(false);
    scenario.run(attempt);
    attempt.require(attempt.hash() == hash, "other results than after the failure");
  }
  // The C++ runtime keeps memory of its first exception, which is not the library's.
  try {
    throw std::bad_alloc();
  } catch (const std::bad_alloc&) {
  }
  (void)aclrtMalloc(nullptr, 1, ACL_MEM_MALLOC_HUGE_FIRST);  // this thread's error text exists from now on
  (void)aclGetRecentErrMsg();
  (void)aclrtGetLastError(ACL_RT_THREAD_LEVEL);
  report.hash = hash;
  report.held = held();
  report.failed_steps = attempt.failed_steps();
  report.covered_steps = attempt.covered_steps();
  const long asked = std::atol(std::getenv("OPENACLNN_NUM_THREADS"));
  const long workers = asked > 0 ? asked : sysconf(_SC_NPROCESSORS_ONLN);
  attempt.require(entries("/proc/self/task") <= 1 + workers, "threads are left over");
  attempt.require(entries("/proc/self/fd") == open_before, "files are left open");
  report.finished = true;
}

// _Fork calls no handlers: the child is as fresh as the parent, which never uses the library.
int run_in_child(const Scenario& scenario, const Injection& injection, int repeats, Report& report) {
  report = {};
  std::fflush(stdout);
  const pid_t child = _Fork();
  if (child == 0) {
    run_point(scenario, injection, repeats, report);
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

struct Runner {
  Report& report;
  Totals totals;
  long step = 1;

  // The library keeps a bounded number of things for later calls. A leak grows if the same call fails
  // repeatedly.
  bool grows(const Scenario& scenario, const Injection& injection) {
    const Report once = report;
    const int status = run_in_child(scenario, injection, kRepeats, report);
    const bool grown = status != 0 || exceeds(report.held, once.held, kRepeats * 3 / 4);
    if (!grown) report = once;
    return grown;
  }

  bool survived(const Scenario& scenario, const Injection& injection, const Report* clean) {
    const int status = run_in_child(scenario, injection, 1, report);
    const auto point = [&] {
      std::printf("  repeat with: failures --point '%s' %ld %s\n", scenario.name.c_str(), injection.first,
                  injection.onwards ? "all" : "one");
    };
    if (!report.finished || status != 0) {
      std::printf("NOT SURVIVED: status %d%s\n", status,
                  WIFSIGNALED(status) ? " (killed; 14 is a hang, 6 an exception that reached the wall)" : "");
      point();
      return false;
    }
    if (clean == nullptr) return true;
    if (report.hash != clean->hash) {
      std::printf("WRONG RESULT\n");
      point();
      return false;
    }
    if (exceeds(report.held, clean->held, 0) && grows(scenario, injection)) {
      const Held& now = report.held;
      std::printf("LEAK: %ld allocations, %ld mapped bytes, %ld files after %d failures\n",
                  now.allocations - clean->held.allocations, now.mapped_bytes - clean->held.mapped_bytes,
                  now.files - clean->held.files, kRepeats);
      point();
      ++totals.leaks;
    }
    return true;
  }

  void run(const Scenario& scenario) {
    if (!survived(scenario, {-1, false}, nullptr)) {
      ++totals.points;  // a scenario that fails by itself proves nothing
      return;
    }
    const Report clean = report;
    for (const bool onwards : {false, true}) {
      // Repeats until every request has failed once.
      for (long first = 0;; first += step) {
        const bool fine = survived(scenario, {first, onwards}, &clean);
        long refused_here = 0;
        for (int k = 0; k < kRequests; ++k) {
          refused_here += report.refused[k];
          totals.by_request[k] += report.refused[k];
        }
        if (fine && refused_here == 0) break;
        ++totals.points;
        totals.survived += fine;
        totals.failed_steps += report.failed_steps;
        totals.covered_steps += report.covered_steps;
        if (first > 5000) break;  // endless: the summary will show it
      }
    }
  }
};

std::vector<Scenario> all_scenarios() {
  std::vector<Scenario> all = runtime_scenarios();
  for (Scenario& scenario : operator_scenarios()) all.push_back(std::move(scenario));
  return all;
}

Report& shared_report() {
  void* const memory =
      mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  return *static_cast<Report*>(memory);
}

int repeat(const char* name, long first, bool onwards) {
  for (const Scenario& scenario : all_scenarios()) {
    if (scenario.name != name) continue;
    Report report = {};
    run_point(scenario, {first, onwards}, 1, report);
    std::printf("survived, %ld requests, %ld allocations held\n", report.requests, report.held.allocations);
    return 0;
  }
  std::printf("there is no scenario '%s'\n", name);
  return 2;
}

int run_all(int share, int shares, long step, const char* only) {
  Runner runner{shared_report(), {}, step};
  int number = 0, ran = 0;
  for (const Scenario& scenario : all_scenarios()) {
    if (number++ % shares != share || scenario.name.find(only) == std::string::npos) continue;
    runner.run(scenario);
    ++ran;
  }
  const Totals& t = runner.totals;
  std::printf(
      "refused: %ld allocations, %ld mappings, %ld threads, %ld files; %ld calls returned a code, %ld did "
      "without\n",
      t.by_request[0], t.by_request[1], t.by_request[2], t.by_request[3], t.failed_steps, t.covered_steps);
  std::printf("figure scenarios %d\nfigure points %ld\nfigure survived %ld\nfigure leaks %ld\n", ran,
              t.points, t.survived, t.leaks);
  std::printf("figure memory %ld\nfigure mappings %ld\nfigure threads %ld\nfigure files %ld\n",
              t.by_request[0], t.by_request[1], t.by_request[2], t.by_request[3]);
  return t.points > 0 && t.survived == t.points && t.leaks == 0 ? 0 : 1;
}

}  // namespace
}  // namespace failures

int main(int argc, char** argv) {
  int share = 0, shares = 1;
  long step = 1;
  const char* only = "";
  for (int k = 1; k < argc; ++k) {
    const std::string_view word = argv[k];
    if (word == "--point" && k + 3 < argc) {
      return failures::repeat(argv[k + 1], std::atol(argv[k + 2]), std::strcmp(argv[k + 3], "all") == 0);
    }
    const char* const value = k + 1 < argc ? argv[++k] : "";
    if (word == "--share" && std::sscanf(value, "%d/%d", &share, &shares) == 2 && share < shares) continue;
    if (word == "--step" && (step = std::atol(value)) > 0) continue;
    if (word == "--only") {
      only = value;
      continue;
    }
    std::fprintf(stderr, "failures: cannot read '%s %s'\n", argv[k - 1], value);
    return 2;
  }
  return failures::run_all(share, shares, step, only);
}
