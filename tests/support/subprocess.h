// Runs the test program again with other settings, because the library reads its environment once per
// process.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace openaclnn_test {

struct ProcessResult {
  int exit_code = -1;  // 128 + signal when it was killed
  std::string output;  // stdout and stderr
};

// Runs /proc/self/exe with the arguments and the environment of this process, without its OPENACLNN_*
// variables (except OPENACLNN_TEST_SEED) and with `environment` added.
ProcessResult run_self(const std::vector<std::string>& arguments,
                       const std::map<std::string, std::string>& environment);

// Runs the tests PROCESS_TEST(suite, …) of this program in a process with that environment, or the tests of `filter`. At least one
// must run.
ProcessResult run_suite(const std::string& suite, const std::map<std::string, std::string>& environment,
                        const std::string& filter = "");
bool ran_and_passed(const ProcessResult& result);
// Runs the suite, which must pass.
void expect_suite_passes(const std::string& suite, const std::map<std::string, std::string>& environment,
                         const std::string& filter = "");

// True in the process that run_suite(suite) started. `suite` may end in InProcess.
bool is_process_of(std::string suite);

}  // namespace openaclnn_test

// Tests that exist only in a process of run_suite(): there they belong to the suite <suite>InProcess.
#define PROCESS_TEST(suite, name) OPENACLNN_PROCESS_TEST(suite##InProcess, name, ::testing::Test)
// The fixture is called <suite>InProcess.
#define PROCESS_TEST_F(fixture, name) OPENACLNN_PROCESS_TEST(fixture, name, fixture)

#define OPENACLNN_PROCESS_TEST(suite, name, fixture)                                 \
  class suite##_##name##_Test : public fixture {                                     \
    void TestBody() override;                                                        \
  };                                                                                 \
  [[maybe_unused]] static const bool suite##_##name##_is_there = [] {                \
    if (!openaclnn_test::is_process_of(#suite)) return false;                        \
    ::testing::RegisterTest(#suite, #name, nullptr, nullptr, __FILE__, __LINE__,     \
                            []() -> fixture* { return new suite##_##name##_Test; }); \
    return true;                                                                     \
  }();                                                                               \
  void suite##_##name##_Test::TestBody()
