// Tests OPENACLNN_LOG=info: the message of each rejected call on stderr, once per text, in bounded memory,
// from any thread.
#include <sys/stat.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "judge/scratch_folder.h"
#include "runtime/child_process.h"
#include "support/paths.h"

namespace {

using namespace runtime_test;

// Lines of rejected calls that the program writes.
std::vector<std::string> lines_of(const std::string& mode, const char* level = "info") {
  const Finished finished = run_program(test_paths::refusal_log_program, {mode}, {{"OPENACLNN_LOG", level}});
  expect_success(finished);
  std::vector<std::string> lines;
  std::istringstream stream(finished.output);
  for (std::string line; std::getline(stream, line);) {
    const bool is_refusal = line.ends_with("]") || line.find("further ones") != std::string::npos;
    if (line.starts_with("openaclnn: ") && is_refusal) lines.push_back(line);
  }
  return lines;
}

constexpr char kOption[] =
    "openaclnn: aclrtGetSysParamOpt: opt is 1000; it must be in [0, 4) [100000 ACL_ERROR_INVALID_PARAM]";

TEST(RefusalLogTest, EachTextOnceFromAnyThread) {
  std::vector<std::string> lines = lines_of("threads");
  std::sort(lines.begin(), lines.end());
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0],
            "openaclnn: aclnnEmbeddingGetWorkspaceSize: weight is NULL; a tensor is required "
            "[161001 ACLNN_ERR_PARAM_NULLPTR]");
  EXPECT_EQ(lines[1], kOption);
  EXPECT_EQ(std::unique(lines.begin(), lines.end()), lines.end());
}

TEST(RefusalLogTest, OnlyWhenItIsAskedFor) {
  for (const char* level : {"", "error", "warn", "nonsense"})
    EXPECT_EQ(lines_of("threads", level), std::vector<std::string>()) << level;
  EXPECT_EQ(lines_of("threads", "debug").size(), 6u);
  EXPECT_EQ(lines_of("success"), std::vector<std::string>());
}

TEST(RefusalLogTest, AnswersAreLoggedForDebuggingOnly) {
  EXPECT_EQ(lines_of("questions"), std::vector<std::string>());
  EXPECT_EQ(lines_of("questions", "debug").size(), 4u);
}

TEST(RefusalLogTest, TheProgramsOwnLinesNeedTheirLevel) {
  const std::string warning = "[WARNING] main.cc:7 run: two?lines\n";
  const std::string errors =
      "[ERROR] unknown:0 unknown: \n[ERROR] main.cc:8 run: " + std::string(1023, 'x') + "\n";
  const auto output = [](const char* level) {
    const Finished finished =
        run_program(test_paths::refusal_log_program, {"own"}, {{"OPENACLNN_LOG", level}});
    expect_success(finished);
    return finished.output;
  };
  EXPECT_EQ(output("error"), errors);
  EXPECT_EQ(output("warn"), warning + errors);
  EXPECT_TRUE(output("info").ends_with(" own: step 3 of ten\n" + warning + errors)) << output("info");
  EXPECT_NE(output("debug").find(" own: debug\n[INFO] "), std::string::npos);
}

TEST(RefusalLogTest, ATraceIntoAPipeThatNobodyReadsBlocksNothing) {
  const openaclnn_test::ScratchFolder scratch;
  const std::string pipe = scratch.path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0666), 0);
  const Finished finished =
      run_program(test_paths::refusal_log_program, {"threads"}, {{"OPENACLNN_TRACE", pipe}});
  expect_success(finished);
  EXPECT_EQ(finished.output, "openaclnn: OPENACLNN_TRACE is '" + pipe +
                                 "', which cannot be written: it is a pipe that no process reads\n");
}

TEST(RefusalLogTest, AThousandTextsAreRemembered) {
  const std::vector<std::string> lines = lines_of("many");
  ASSERT_EQ(lines.size(), 1025u);
  EXPECT_EQ(lines.back(),
            "openaclnn: 1024 different messages about rejected calls were logged; further ones are omitted");
}

TEST(RefusalLogTest, AChildWritesWhatIsNew) {
  const std::vector<std::string> lines = lines_of("fork");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], kOption);
  EXPECT_NE(lines[1].find("opt is 1001"), std::string::npos) << lines[1];
}

TEST(RefusalLogTest, IsNoPlaceToBeCancelled) {
  EXPECT_EQ(lines_of("cancel"), std::vector<std::string>{kOption});
}

TEST(RefusalLogTest, NeedsNoMemory) {
  const std::vector<std::string> lines = lines_of("memory");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), kOption), 60);
}

TEST(RefusalLogTest, AClosedStderrChangesNothing) {
  EXPECT_EQ(lines_of("closed"), std::vector<std::string>());
}

TEST(RefusalLogTest, TheTerminalGetsTextOnlyAndTheCodeAlwaysFits) {
  const std::vector<std::string> lines = lines_of("control");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].find("openaclnn: a?[31mb?c: openaclnn does not have this function, only its name"), 0u)
      << lines[0];
  for (const std::string& line : lines) EXPECT_LT(line.size(), 1100u);
  EXPECT_TRUE(lines[1].ends_with("[561003 ACLNN_ERR_INNER_FIND_KERNEL_ERROR]")) << lines[1];
  EXPECT_TRUE(lines[2].ends_with("[100003 ACL_ERROR_INVALID_FILE]")) << lines[2];
}

}  // namespace
