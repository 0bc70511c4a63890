// Tests processes that end while the library is working: see exit_program.cc for the ways.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "judge/scratch_folder.h"
#include "runtime/child_process.h"
#include "runtime/counter.h"
#include "runtime/runtime_test.h"
#include "support/paths.h"
#include "support/subprocess.h"

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

// A trace is for the calls before a crash above all.
PROCESS_TEST(TracedCrash, AfterCompleteCalls) {
  expect(0, aclrtSetDevice(0));
  Counter counter;
  for (int n = 0; n < 3; ++n) {
    expect(0, counter.add(nullptr));
    expect(0, aclrtSynchronizeStream(nullptr));
  }
  (void)raise(SIGKILL);
}

TEST(Traces, KeepTheCallsBeforeACrash) {
  const openaclnn_test::ScratchFolder scratch;
  const std::string path = scratch.path("trace.json");
  EXPECT_EQ(openaclnn_test::run_suite("TracedCrash", {{"OPENACLNN_TRACE", path}}).exit_code, 128 + SIGKILL);
  std::ifstream file(path);
  int tasks = 0;
  for (std::string line; std::getline(file, line);) tasks += line.find("\"ph\":\"X\"") != std::string::npos;
  EXPECT_EQ(tasks, 9) << "both phases of three calls, and their tasks";
}

// Daemons close the descriptors that they don't know. Their next file then has the descriptor of the trace.
PROCESS_TEST(TracedDaemon, OpensAnotherFile) {
  expect(0, aclrtSetDevice(0));
  Counter counter;
  expect(0, counter.add(nullptr));
  expect(0, aclrtSynchronizeStream(nullptr));
  for (int descriptor = STDERR_FILENO + 1; descriptor < 100; ++descriptor) (void)close(descriptor);
  const int own = open(std::getenv("OWN_FILE"), O_RDWR | O_CREAT, 0666);
  expect(0, counter.add(nullptr));
  expect(0, aclrtSynchronizeStream(nullptr));
  EXPECT_EQ(lseek(own, 0, SEEK_END), 0) << "the trace was written into a file of the program";
}

TEST(Traces, StayOutOfFilesThatGotTheirDescriptor) {
  const openaclnn_test::ScratchFolder scratch;
  const openaclnn_test::ProcessResult result = openaclnn_test::run_suite(
      "TracedDaemon",
      {{"OPENACLNN_TRACE", scratch.path("trace.json")}, {"OWN_FILE", scratch.path("own.txt")}});
  EXPECT_TRUE(openaclnn_test::ran_and_passed(result)) << result.output;
  EXPECT_NE(result.output.find("the trace is incomplete: the program closed its file"), std::string::npos)
      << result.output;
  EXPECT_EQ(std::filesystem::file_size(scratch.path("own.txt")), 0u) << "also when the process ends";
}

TEST(ExitProgram, KnowsItsModes) { EXPECT_GE(modes().size(), 10u); }

}  // namespace
