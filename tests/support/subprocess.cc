// Environments and results of child processes.
#include "support/subprocess.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "support/spawn.h"

extern char** environ;

namespace openaclnn_test {

namespace {

constexpr char kSuite[] = "OPENACLNN_TEST_SUITE";

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> made;
  for (std::string& text : texts) made.push_back(text.data());
  made.push_back(nullptr);
  return made;
}

}  // namespace

ProcessResult run_self(const std::vector<std::string>& arguments,
                       const std::map<std::string, std::string>& environment) {
  std::vector<std::string> argument_texts = {"/proc/self/exe"};
  char own_path[4096] = {};
  if (readlink("/proc/self/exe", own_path, sizeof own_path - 1) > 0) argument_texts[0] = own_path;
  argument_texts.insert(argument_texts.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const bool is_setting = text.starts_with("OPENACLNN_") && !text.starts_with("OPENACLNN_TEST_") &&
                            !text.starts_with("OPENACLNN_PLANTED=");
    if (!is_setting) variables.emplace_back(text);
  }
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);

  // Under an emulator the interpreter of /proc/self/exe is the emulator; the program's own path is not.
  const Spawned spawned =
      spawn(argument_texts[0].c_str(), pointers(argument_texts).data(), pointers(variables).data());
  ProcessResult result{.output = spawned.output};
  if (spawned.status)
    result.exit_code =
        WIFEXITED(*spawned.status) ? WEXITSTATUS(*spawned.status) : 128 + WTERMSIG(*spawned.status);
  return result;
}

ProcessResult run_suite(const std::string& suite, const std::map<std::string, std::string>& environment,
                        const std::string& filter) {
  std::map<std::string, std::string> variables = environment;
  variables[kSuite] = suite;
  return run_self({"--gtest_filter=" + (filter.empty() ? suite + "InProcess.*" : filter)}, variables);
}

void expect_suite_passes(const std::string& suite, const std::map<std::string, std::string>& environment,
                         const std::string& filter) {
  const ProcessResult result = run_suite(suite, environment, filter);
  EXPECT_TRUE(ran_and_passed(result)) << result.output;
}

bool is_process_of(std::string suite) {
  if (suite.ends_with("InProcess")) suite.resize(suite.size() - std::string_view("InProcess").size());
  const char* const asked_for = std::getenv(kSuite);
  return asked_for != nullptr && suite == asked_for;
}

bool ran_and_passed(const ProcessResult& result) {
  return result.exit_code == 0 && result.output.find("[       OK ]") != std::string::npos;
}

}  // namespace openaclnn_test
