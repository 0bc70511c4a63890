// The same bits everywhere: every room's cases, run with each instruction set, several numbers of threads and a hostile
// floating-point state of the caller, must give the hashes that golden_hashes.txt records.
//
// The library reads its environment once, so the program runs itself for each combination:
//   bits_test --print-hashes            the hashes of all cases under the present environment (and the new golden file)
//   bits_test --print-hashes hostile    the same while the caller flushes subnormals and rounds up
#include <gtest/gtest.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "cpu/dispatch.h"
#include "cpu/threads.h"
#include "room_cases.h"
#include "support/hostile_fp_state.h"
#include "support/random.h"
#include "support/subprocess.h"

namespace openaclnn_test {
namespace {

constexpr int kMostThreads = 7;

// ---- the child: one line per case ----

int fail(const Case& c, const std::string& why) {
  std::printf("FAILED %s: %s\n", c.name.c_str(), why.c_str());
  return 1;
}

int print_hashes(bool hostile) {
  std::printf("# %s, %d threads\n", openaclnn::cpu::isa_name(openaclnn::cpu::active_isa()),
              openaclnn::cpu::num_threads());
  int failures = 0;
  for (const Case& c : all_cases()) {
    const std::vector<HostTensor> tensors = make_tensors(c);
    Outcome outcome;
    if (hostile) {
      const HostileFpState state;
      outcome = run_case(c, tensors);
      if (!state.intact()) failures += fail(c, "the caller's floating-point state was changed");
    } else {
      outcome = run_case(c, tensors);
    }
    if (!outcome.ok()) {
      failures += fail(c, outcome.text());
      continue;
    }
    uint64_t hash = hash_text(c.name);
    for (size_t k = 0; k < tensors.size(); ++k) {
      if (c.tensors[k].role == Role::input) continue;
      const std::vector<std::byte> bytes = tensors[k].all_bytes();
      hash = hash_bytes(bytes.data(), bytes.size(), hash);
      if (2 * count_telling(tensors[k]) <= tensors[k].numel())
        failures += fail(c, std::string(c.tensors[k].name) + " is mostly zero or not finite");
      if (!tensors[k].gaps_intact())
        failures += fail(c, std::string("bytes around ") + c.tensors[k].name + " changed");
    }
    std::printf("%016" PRIx64 " %s\n", hash, c.name.c_str());
  }
  return failures == 0 ? 0 : 1;
}

// ---- the parent ----

std::string hash_lines(const std::string& output) {
  std::istringstream in(output);
  std::string kept;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with('#')) kept += line + "\n";
  }
  return kept;
}

std::string golden_hashes() {
  std::ifstream file(OPENACLNN_GOLDEN_HASHES);
  std::ostringstream text;
  text << file.rdbuf();
  return hash_lines(text.str());
}

struct Level {
  const char* setting;      // of OPENACLNN_ISA; nullptr: not set
  std::string active_name;  // what must then be active
};

// Instruction sets by the kernel's list of CPU features, not by the library's own detection.
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
  if (avx512) found.push_back({"avx512", "avx512"});
  if (!avx2) std::printf("[ NOT RUN  ] avx2: /proc/cpuinfo lists no avx2, fma, bmi1, bmi2 and f16c\n");
  if (!avx512) std::printf("[ NOT RUN  ] avx512: /proc/cpuinfo lists no avx512f, vl, dq, bw and cd\n");
  found.push_back({nullptr, found.back().active_name});
  return found;
#else
  return {{"neon", "neon"}, {nullptr, "neon"}};
#endif
}

class Bits : public testing::TestWithParam<int> {};

TEST_P(Bits, DoNotDependOnInstructionSetThreadsAndCallerState) {
  const std::string golden = golden_hashes();
  ASSERT_FALSE(golden.empty()) << OPENACLNN_GOLDEN_HASHES << " is missing";
  for (const Level& level : levels()) {
    if (level.setting == nullptr && GetParam() != 2)
      continue;  // the best level once more, by the library's own choice
    for (const bool hostile : {false, true}) {
      if (hostile && GetParam() != 2)
        continue;  // with workers that inherit the state, and only once: it takes its time
      std::map<std::string, std::string> environment = {
          {"OPENACLNN_NUM_THREADS", std::to_string(GetParam())}};
      if (level.setting != nullptr) environment["OPENACLNN_ISA"] = level.setting;
      std::vector<std::string> arguments = {"--print-hashes"};
      if (hostile) arguments.push_back("hostile");
      const ProcessResult result = run_self(arguments, environment);
      SCOPED_TRACE(level.active_name + (hostile ? ", hostile caller" : ""));
      ASSERT_EQ(result.exit_code, 0) << result.output;
      const std::string active = "# " + level.active_name + ", " + std::to_string(GetParam()) + " threads\n";
      ASSERT_TRUE(result.output.starts_with(active))
          << "asked for " << active << "got " << result.output.substr(0, 60);
      ASSERT_EQ(hash_lines(result.output), golden) << "bits changed: see docs/numerics.md on when they may";
    }
  }
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
  if (argc > 1 && std::strcmp(argv[1], "--print-hashes") == 0) {
    return openaclnn_test::print_hashes(argc > 2 && std::strcmp(argv[2], "hostile") == 0);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
