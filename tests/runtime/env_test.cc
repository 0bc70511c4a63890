// Tests the environment: every variable's values, one message and the default for unknown ones, read once.
#include <string>

#include "runtime/child_process.h"
#include "support/paths.h"

namespace {

using namespace runtime_test;

std::string output_with(const Variables& variables, const std::vector<std::string>& arguments = {}) {
  // Empty values count as unset, which also hides the caller's environment.
  Variables all;
  for (const char* name : {"DEVICE", "CHECK", "ALLOCATOR", "LIMITS", "BLOCKING", "NUM_THREADS", "ISA",
                           "ROW_STREAMS", "CPU_DEVICES", "SOC_NAME", "TRACE", "DUMP", "LOG"}) {
    all.emplace_back(std::string("OPENACLNN_") + name, "");
  }
  all.insert(all.end(), variables.begin(), variables.end());
  const Finished finished = run_program(test_paths::env_program, arguments, all);
  expect_success(finished);
  return finished.output;
}

size_t occurrences(const std::string& text, const std::string& word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

constexpr char kDefault[] = "count_code=0 devices=1 set_code=0 soc=Ascend910B1 text=none\n";

TEST(EnvTest, NothingSet) { EXPECT_EQ(output_with({}), kDefault); }

TEST(EnvTest, KnownValuesGiveNoMessage) {
  const Variables known = {
      {"DEVICE", "auto"},   {"DEVICE", "cpu"},       {"CHECK", "report"},    {"CHECK", "silent"},
      {"CHECK", "strict"},  {"ALLOCATOR", "pool"},   {"ALLOCATOR", "guard"}, {"LIMITS", "none"},
      {"LIMITS", "vendor"}, {"BLOCKING", "0"},       {"BLOCKING", "1"},      {"NUM_THREADS", "1"},
      {"NUM_THREADS", "5"}, {"ISA", "scalar"},       {"ISA", "avx2"},        {"ISA", "avx512"},
      {"ISA", "neon"},      {"ROW_STREAMS", "auto"}, {"ROW_STREAMS", "one"}, {"ROW_STREAMS", "several"},
      {"CPU_DEVICES", "1"}, {"LOG", "error"},        {"LOG", "warn"}};
  for (const auto& [name, value] : known)
    EXPECT_EQ(output_with({{"OPENACLNN_" + name, value}}), kDefault) << name << value;
}

TEST(EnvTest, UnknownValuesGiveOneMessageAndTheDefault) {
  const Variables unknown = {{"DEVICE", "npu"},      {"DEVICE", "CPU"},
                             {"CHECK", "loud"},      {"ALLOCATOR", "heap"},
                             {"LIMITS", "1"},        {"BLOCKING", "2"},
                             {"BLOCKING", "true"},   {"NUM_THREADS", "0"},
                             {"NUM_THREADS", "-1"},  {"NUM_THREADS", "x"},
                             {"NUM_THREADS", "4x"},  {"CPU_DEVICES", "0"},
                             {"CPU_DEVICES", "65"},  {"CPU_DEVICES", "99999999999999999999"},
                             {"CPU_DEVICES", "1.5"}, {"ISA", "mmx"},
                             {"ISA", "sve"},         {"ROW_STREAMS", "2"},
                             {"LOG", "verbose"},     {"CUDA_PLUGIN", "plugin.so"}};
  for (const auto& [name, value] : unknown) {
    const std::string output = output_with({{"OPENACLNN_" + name, value}});
    EXPECT_EQ(occurrences(output, "openaclnn: OPENACLNN_" + name + " is '" + value + "'; accepted: "), 1u)
        << output;
    EXPECT_EQ(occurrences(output, "openaclnn: "), 1u) << output;
    EXPECT_EQ(occurrences(output, kDefault), 1u) << output;
  }
}

TEST(EnvTest, SeveralUnknownValuesGiveOneMessageEach) {
  const std::string output =
      output_with({{"OPENACLNN_CHECK", "a"}, {"OPENACLNN_LOG", "b"}, {"OPENACLNN_ISA", "c"}});
  EXPECT_EQ(occurrences(output, "openaclnn: "), 3u) << output;
}

TEST(EnvTest, MisspeltNamesGiveOneMessage) {
  const Variables misspelt = {{"NUM_THREAD", "NUM_THREADS"},
                              {"THREADS", "NUM_THREADS"},
                              {"DEVIC", "DEVICE"},
                              {"CHEKC", "CHECK"},
                              {"log", "LOG"},
                              {"SOCNAME", "SOC_NAME"}};
  for (const auto& [name, meant] : misspelt) {
    const std::string output = output_with({{"OPENACLNN_" + name, "1"}});
    EXPECT_EQ(occurrences(output, "openaclnn: unknown setting OPENACLNN_" + name +
                                      "; did you mean OPENACLNN_" + meant + "?\n"),
              1u)
        << output;
    EXPECT_EQ(occurrences(output, "openaclnn: "), 1u) << output;
  }
}

TEST(EnvTest, NamesOfOtherProgramsGiveNoMessage) {
  EXPECT_EQ(output_with({{"OPENACLNN_TEST_SEED", "1"},
                         {"OPENACLNN_FAKE_CUDA", "x"},
                         {"OPENACLNN_PLANTED", "x"},
                         {"OPENACLNN_SIMT_SCHEDULE", "x"},
                         {"OPENACLNN_TRAIN_WRONG", "x"},
                         {"OPENACLNN_", "x"},
                         {"OPENACLNN_HOME_OF_SOMETHING_ELSE", "x"}}),
            kDefault);
  EXPECT_EQ(output_with({{"OPENACLNN_NUM_THREAD", "1"}, {"OPENACLNN_LOG", "error"}}), kDefault);
}

TEST(EnvTest, MessagesHaveNoControlCharacters) {
  const std::string output = output_with({{"OPENACLNN_CHECK", "\033[31m\nopenaclnn: x"}});
  EXPECT_EQ(occurrences(output, "openaclnn: OPENACLNN_CHECK is '?[31m?openaclnn: x'; "), 1u) << output;
}

// The program writes one message to the stderr that a shell sets up; `script` starts it as "$0".
std::string output_in_shell(const std::string& script) {
  const Finished finished =
      run_program("/bin/sh", {"-c", script, test_paths::env_program}, {{"OPENACLNN_CHECK", "loud"}});
  expect_success(finished);
  return finished.output;
}

TEST(EnvTest, StderrThatCannotBeWrittenHarmsNothing) {
  const std::string survived = kDefault + std::string("status 0\n");
  EXPECT_EQ(output_in_shell("\"$0\" 2>&-; echo status $?"), survived);
  EXPECT_EQ(output_in_shell("\"$0\" 2>/dev/full; echo status $?"), survived);
  EXPECT_EQ(output_in_shell("exec 3>&1; { sleep 0.3; \"$0\" >&3; echo status $? >&3; } 2>&1 | true"),
            survived);
  EXPECT_EQ(
      output_in_shell("f=$(mktemp); LLVM_PROFILE_FILE=/dev/null \"$0\" limit 2>$f; echo status $?; rm $f"),
      survived);
}

TEST(EnvTest, MessagesStayOutOfFilesThatGotTheNumberOfStderr) {
  EXPECT_EQ(output_in_shell("f=$(mktemp); \"$0\" file $f 2>&-; echo status $?; cat $f; rm $f"),
            kDefault + std::string("status 0\n"));
}

TEST(EnvTest, CpuDevices) {
  EXPECT_NE(output_with({{"OPENACLNN_CPU_DEVICES", "3"}}).find("devices=3 "), std::string::npos);
  EXPECT_NE(output_with({{"OPENACLNN_CPU_DEVICES", "64"}}).find("devices=64 "), std::string::npos);
}

TEST(EnvTest, ReadOnce) { EXPECT_EQ(output_with({}, {"late"}), kDefault); }

TEST(EnvTest, NoEnvironmentAtAll) { EXPECT_EQ(output_with({}, {"clear"}), kDefault); }

TEST(EnvTest, SocName) {
  EXPECT_NE(output_with({{"OPENACLNN_SOC_NAME", "Ascend310P3"}}).find("soc=Ascend310P3 "), std::string::npos);
}

TEST(EnvTest, CudaWithoutAGpu) {
  const std::string output =
      output_with({{"OPENACLNN_DEVICE", "cuda"}, {"OPENACLNN_CUDA_PLUGIN", "/nowhere.so"}});
  if (output.find("set_code=0 ") != std::string::npos) GTEST_SKIP() << "a GPU is available on this machine";
  EXPECT_NE(output.find("count_code=0 devices=0 set_code=207004 "), std::string::npos) << output;
  EXPECT_NE(output.find("aclrtSetDevice: no CUDA device: plugin file not found at /nowhere.so"),
            std::string::npos)
      << output;
}

}  // namespace
