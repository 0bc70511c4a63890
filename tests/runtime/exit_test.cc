// Tests processes that end while the library is working: see exit_program.cc for the ways.
#include <sstream>
#include <string>
#include <vector>

#include "runtime/child_process.h"
#include "runtime/runtime_test.h"
#include "support/paths.h"

namespace {

using namespace runtime_test;

std::vector<std::string> modes() {
  std::vector<std::string> names;
  std::istringstream in(run_program(test_paths::exit_program, {}).output);
  for (std::string name; std::getline(in, name);) names.push_back(name);
  return names;
}

class ExitTest : public testing::TestWithParam<std::string> {};

TEST_P(ExitTest, ExitsWithZeroInTime) {
  // Threads that outlive main() race with the destructors of the C++ library itself, which thread sanitizer reports.
  if (kThreadSanitizer && GetParam() == "threads_still_running")
    GTEST_SKIP() << "the race is in the program, on purpose";
  const int repeats = kThreadSanitizer ? 1 : 5;
  for (int k = 0; k < repeats; ++k) {
    for (const char* threads : {"1", "4"}) {
      const Finished finished =
          run_program(test_paths::exit_program, {GetParam()}, {{"OPENACLNN_NUM_THREADS", threads}});
      expect_success(finished);
      if (finished.exit_code != 0) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, ExitTest, testing::ValuesIn(modes()),
                         [](const auto& mode) { return mode.param; });

TEST(ExitProgram, KnowsItsModes) { EXPECT_GE(modes().size(), 10u); }

}  // namespace
