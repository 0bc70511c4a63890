// Tests that bits are the same everywhere: every room's cases, run with each instruction set, several
// numbers of threads and every floating-point state of the caller, must give the hashes in
// golden_hashes.txt of the room.
//
// The library reads its environment once, so the program runs itself for each instruction set and number of threads:
//   bits_test --print-hashes            the hashes of all cases under the present environment (and new golden files)
//   bits_test --print-hashes states     the same for each state of the caller
//   bits_test --print-hashes cases FILE the cases whose names are the lines of a file
// OPENACLNN_TEST_BITS=all tries every state with every number of threads, not only with two threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "cpu/dispatch.h"
#include "cpu/threads.h"
#include "support/golden_hashes.h"
#include "support/hostile_fp_state.h"
#include "support/paths.h"
#include "support/subprocess.h"
#include "support/verify.h"
#include "verify/random.h"
#include "verify/room_cases.h"

namespace openaclnn_test {
namespace {

constexpr int kMostThreads = 7;

// ---- the child: one line per case ----

bool fail(const Case& c, const std::string& why) {
  std::printf("FAILED %s: %s\n", c.name.c_str(), why.c_str());
  return false;
}

// Returns the hash of a call's results, or a reason why it proves nothing.
bool print_hash(const Case& c, const std::vector<HostTensor>& made, const CallerState& caller) {
  std::vector<HostTensor> tensors;
  for (size_t k = 0; k < made.size(); ++k) tensors.push_back(made[k].copy(c.tensors[k].layout));
  Outcome outcome;
  bool intact = true;
  {
    const ScopedCallerState state(caller);
    outcome = run_case(c, tensors);
    intact = state.intact();
  }
  if (!intact) return fail(c, "the caller's floating-point state was changed");
  if (!outcome.ok()) return fail(c, outcome.text());
  bool tells = true;
  for (size_t k = 0; k < tensors.size(); ++k) {
    if (c.tensors[k].role == Role::input) continue;
    if (2 * count_telling(tensors[k]) <= tensors[k].numel())
      tells = fail(c, std::string(c.tensors[k].name) + " is mostly zero or not finite");
    if (!tensors[k].gaps_intact())
      tells = fail(c, std::string("bytes around ") + c.tensors[k].name + " changed");
  }
  std::printf("%016" PRIx64 " %s\n", hash_of_results(c, tensors), c.name.c_str());
  return tells;
}

// Workers inherit the state of the thread that makes them, so each number of threads starts with another
// state.
int print_hashes(bool all_states, const std::set<std::string>* wanted = nullptr) {
  const int threads = openaclnn::cpu::num_threads();
  std::printf("# %s, %d threads\n", openaclnn::cpu::isa_name(openaclnn::cpu::active_isa()), threads);
  bool good = true;
  for (const Case& c : all_cases()) {
    if (wanted != nullptr && !wanted->contains(c.name)) continue;
    const std::vector<HostTensor> tensors = make_tensors(c);
    constexpr size_t kStates = std::size(kCallerStates);
    for (size_t k = 0; k < (all_states ? kStates : 1); ++k) {
      const CallerState& state = kCallerStates[all_states ? (k + static_cast<size_t>(threads)) % kStates : 0];
      if (all_states) std::printf("# %s\n", state.name);
      good = print_hash(c, tensors, state) && good;
    }
  }
  return good ? 0 : 1;
}

// ---- the parent ----

// Hashes by the name of their case.
using Hashes = std::map<std::string, std::set<std::string>>;

void add_hashes(std::istream& in, Hashes& hashes) {
  for_each_hash(in, [&](const std::string& hash, const std::string& name) { hashes[name].insert(hash); });
}

Hashes golden() {
  Hashes hashes;
  for (const auto& [name, hash] : golden_hashes(test_paths::ops_folder, "golden_hashes.txt"))
    hashes[name].insert(hash);
  return hashes;
}

struct Level {
  const char* setting;               // value of OPENACLNN_ISA; nullptr: not set
  std::string active_name;           // the instruction set that must then be active
  const char* row_streams = "auto";  // value of OPENACLNN_ROW_STREAMS
};

// Determines instruction sets from the kernel's list of CPU features, not from the library's own detection.
std::vector<Level> levels() {
#if defined(__x86_64__)
  std::ifstream file("/proc/cpuinfo");
  std::string flags;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("flags")) {
      flags = line + " ";
      break;
    }
  }
  const auto has = [&](std::initializer_list<const char*> names) {
    return std::all_of(names.begin(), names.end(), [&](const char* name) {
      return flags.find(" " + std::string(name) + " ") != std::string::npos;
    });
  };
  const bool avx2 = has({"avx2", "fma", "bmi1", "bmi2", "f16c"});
  const bool avx512 = avx2 && has({"avx512f", "avx512vl", "avx512dq", "avx512bw", "avx512cd"});
  std::vector<Level> found = {{"scalar", "scalar"}};
  if (avx2) found.push_back({"avx2", "avx2"});
  if (avx512) found.insert(found.end(), {{"avx512", "avx512", "one"}, {"avx512", "avx512", "several"}});
  if (!avx2) std::printf("[ NOT RUN  ] avx2: /proc/cpuinfo lists no avx2, fma, bmi1, bmi2 and f16c\n");
  if (!avx512) std::printf("[ NOT RUN  ] avx512: /proc/cpuinfo lists no avx512f, vl, dq, bw and cd\n");
  found.push_back({nullptr, found.back().active_name});
  return found;
#else
  return {{"neon", "neon"}, {nullptr, "neon"}};
#endif
}

struct Setting {
  Level level;
  int threads;
  bool all_states;
};

// Totals of all runs, for the last lines of the program.
struct Figures {
  Hashes hashes;
  size_t runs = 0;  // runs per case
};
Figures& figures() {
  static Figures all;
  return all;
}

std::string run_setting(const Setting& setting) {
  std::map<std::string, std::string> environment = {
      {"OPENACLNN_NUM_THREADS", std::to_string(setting.threads)},
      {"OPENACLNN_ROW_STREAMS", setting.level.row_streams}};
  if (setting.level.setting != nullptr) environment["OPENACLNN_ISA"] = setting.level.setting;
  std::vector<std::string> arguments = {"--print-hashes"};
  if (setting.all_states) arguments.emplace_back("states");
  const ProcessResult result = run_self(arguments, environment);
  return result.exit_code == 0 ? result.output
                               : "exit code " + std::to_string(result.exit_code) + "\n" + result.output;
}

void judge(const Setting& setting, const std::string& output, const Hashes& golden) {
  SCOPED_TRACE(setting.level.active_name + ", row streams: " + setting.level.row_streams + ", " +
               std::to_string(setting.threads) + " threads");
  const std::string active =
      "# " + setting.level.active_name + ", " + std::to_string(setting.threads) + " threads\n";
  ASSERT_TRUE(output.starts_with(active)) << "asked for " << active << "got " << output.substr(0, 2000);
  Hashes hashes;
  std::istringstream in(output);
  add_hashes(in, hashes);
  EXPECT_EQ(hashes, golden) << "bits changed: see docs/numerics.md on when they may";
  for (const auto& [name, found] : hashes) figures().hashes[name].insert(found.begin(), found.end());
  figures().runs += hashes.size() * (setting.all_states ? std::size(kCallerStates) : 1);
}

class Bits : public testing::TestWithParam<int> {
 protected:
  static void TearDownTestSuite() {
    size_t most = 0;
    for (const auto& [name, hashes] : figures().hashes) most = std::max(most, hashes.size());
    std::printf("figure cases %zu\nfigure runs %zu\nfigure hashes_per_case %zu\n", figures().hashes.size(),
                figures().runs, most);
  }
};

TEST_P(Bits, DoNotDependOnInstructionSetThreadsAndCallerState) {
  const Hashes wanted_hashes = golden();
  ASSERT_FALSE(wanted_hashes.empty())
      << "no room below " << test_paths::ops_folder << " has verify/golden_hashes.txt";
  const char* const wanted = std::getenv("OPENACLNN_TEST_BITS");
  const bool all = wanted != nullptr && std::string(wanted) == "all";
  std::vector<Setting> settings;
  for (const Level& level : levels()) {
    if (level.setting == nullptr && GetParam() != 2)
      continue;  // the best level again, by the library's own choice
    settings.push_back({level, GetParam(), level.setting != nullptr && (all || GetParam() == 2)});
  }
  // A run spends most of its time on its data, on one thread.
  std::vector<std::string> outputs(settings.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t k = next++; k < settings.size(); k = next++) outputs[k] = run_setting(settings[k]);
  };
  std::vector<std::thread> threads;
  for (unsigned k = 0; k < std::max(std::thread::hardware_concurrency(), 1u); ++k) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  for (size_t k = 0; k < settings.size(); ++k) judge(settings[k], outputs[k], wanted_hashes);
}

INSTANTIATE_TEST_SUITE_P(Threads, Bits, testing::Values(1, 2, 3, kMostThreads));

TEST(BitsCases, AreLargeEnoughToBeSplit) {
  std::map<std::string, int> split;
  for (const Case& c : all_cases()) {
    const std::string room = c.name.substr(0, c.name.find(' '));
    split[room] += c.minimal_bytes / openaclnn::cpu::kMinBytesPerThread >= kMostThreads;
  }
  for (const auto& [room, count] : split)
    EXPECT_GE(count, 5) << room << " has too few cases that 7 threads share";
}

TEST(BitsCases, HaveUniqueNames) {
  std::vector<std::string> names;
  for (const Case& c : all_cases()) names.push_back(c.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace openaclnn_test

int main(int argc, char** argv) {
  const auto is = [&](int at, const char* word) { return argc > at && std::strcmp(argv[at], word) == 0; };
  if (is(1, "--print-hashes") && is(2, "cases")) {
    std::ifstream file(argc > 3 ? argv[3] : "");
    std::set<std::string> names;
    for (std::string line; std::getline(file, line);) names.insert(line);
    if (names.empty()) {
      std::fprintf(stderr, "bits_test: %s has no names of cases\n", argc > 3 ? argv[3] : "a missing file");
      return 2;
    }
    return openaclnn_test::print_hashes(false, &names);
  }
  if (is(1, "--print-hashes")) return openaclnn_test::print_hashes(is(2, "states"));
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
