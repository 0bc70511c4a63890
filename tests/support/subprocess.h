// Running the test program once more with other settings: the library reads its environment once per process.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace openaclnn_test {

struct ProcessResult {
  int exit_code = -1;  // 128 + signal when it was killed
  std::string output;  // stdout and stderr
};

// Runs /proc/self/exe with the arguments and the environment of this process, without its OPENACLNN_* variables (but with
// OPENACLNN_TEST_SEED) and with `environment` added.
ProcessResult run_self(const std::vector<std::string>& arguments,
                       const std::map<std::string, std::string>& environment);

// Runs the tests "DISABLED_<suite>.*" of this program in a process with that environment. At least one must run.
ProcessResult run_suite(const std::string& suite, const std::map<std::string, std::string>& environment);
bool ran_and_passed(const ProcessResult& result);

}  // namespace openaclnn_test
