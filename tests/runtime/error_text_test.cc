// Tests the text of recent errors: newest first, bounded in lines and bytes, one per thread, cleared by
// reading.
#include <cstring>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "openaclnn/openaclnn.h"
#include "runtime/runtime_test.h"

namespace {

using namespace runtime_test;

std::vector<std::string> taken_lines() {
  std::vector<std::string> lines;
  if (const char* text = aclGetRecentErrMsg()) {
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
  }
  return lines;
}

TEST(ErrorTextTest, NewestFirstAndCleared) {
  (void)aclGetRecentErrMsg();
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
  (void)aclrtFree(nullptr);
  (void)aclDestroyAclOpExecutor(nullptr);
  const std::vector<std::string> lines = taken_lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].find("aclDestroyAclOpExecutor: executor is NULL"), 0u) << lines[0];
  EXPECT_NE(lines[0].find("[561103 ACLNN_ERR_INNER_NULLPTR]"), std::string::npos);
  EXPECT_EQ(lines[1].find("aclrtFree: devPtr is NULL"), 0u) << lines[1];
  EXPECT_NE(lines[1].find("[100000 ACL_ERROR_INVALID_PARAM]"), std::string::npos);
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
}

TEST(ErrorTextTest, AMissingFunctionIsNamedWhateverItsNameIs) {
  (void)aclGetRecentErrMsg();
  const std::string long_name(5000, 'x');
  for (const char* name : {"aclnnSoftmax", "", "two\nlines", long_name.c_str()})
    EXPECT_EQ(openaclnnReportMissing(name), 561003);
  EXPECT_EQ(openaclnnReportMissing(nullptr), 561003);
  const std::vector<std::string> lines = taken_lines();
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0].find("unknown function: openaclnn does not have this function, only its name"), 0u)
      << lines[0];
  EXPECT_LE(lines[1].size(), 1023u);
  EXPECT_EQ(lines[4].find("aclnnSoftmax: openaclnn does not have this operator"), 0u) << lines[4];
  EXPECT_NE(lines[4].find("[561003 ACLNN_ERR_INNER_FIND_KERNEL_ERROR]"), std::string::npos) << lines[4];
}

TEST(ErrorTextTest, SuccessAddsNothing) {
  (void)aclGetRecentErrMsg();
  EXPECT_EQ(aclDestroyTensor(nullptr), 0);
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
}

TEST(ErrorTextTest, KeepsSixteenLines) {
  (void)aclGetRecentErrMsg();
  for (int k = 0; k < 40; ++k) (void)aclrtGetSysParamOpt(static_cast<aclSysParamOpt>(100 + k), nullptr);
  for (int k = 0; k < 40; ++k) (void)aclrtSetSysParamOpt(static_cast<aclSysParamOpt>(100 + k), 0);
  const std::vector<std::string> lines = taken_lines();
  ASSERT_EQ(lines.size(), 16u);
  for (int k = 0; k < 16; ++k) {
    EXPECT_NE(lines[static_cast<size_t>(k)].find("opt is " + std::to_string(139 - k) + ";"),
              std::string::npos);
  }
}

TEST(ErrorTextTest, LinesHaveAtMost1023Bytes) {
  (void)aclGetRecentErrMsg();
  const std::string path(100000, 'p');
  EXPECT_EQ(aclInit(path.c_str()), 100003);
  EXPECT_EQ(aclInit((path + "\nsecond line\n").c_str()), 100003);
  for (const std::string& line : taken_lines()) {
    EXPECT_EQ(line.size(), 1023u);
    const std::string end = "[100003 ACL_ERROR_INVALID_FILE]";
    EXPECT_EQ(line.substr(line.size() - end.size()), end) << "the code must survive the cut";
  }
}

TEST(ErrorTextTest, LineBreaksInArgumentsStayOutOfTheText) {
  (void)aclGetRecentErrMsg();
  EXPECT_EQ(aclInit("/no/such\nfile"), 100003);
  EXPECT_EQ(taken_lines().size(), 1u);
}

TEST(ErrorTextTest, SixteenLongestLinesFit) {
  (void)aclGetRecentErrMsg();
  const std::string path(5000, 'q');
  for (int k = 0; k < 20; ++k) (void)aclInit(path.c_str());
  const char* text = aclGetRecentErrMsg();
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(std::strlen(text), 16u * 1023 + 15);
}

TEST(ErrorTextTest, OnePerThread) {
  (void)aclGetRecentErrMsg();
  (void)aclrtFree(nullptr);
  std::thread([] {
    EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
    (void)aclrtFreeHost(nullptr);
    const std::vector<std::string> lines = taken_lines();
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0].find("aclrtFreeHost: "), 0u);
  }).join();
  const std::vector<std::string> lines = taken_lines();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].find("aclrtFree: "), 0u);
}

TEST(ErrorTextTest, TheTextStaysUntilItIsTakenAgain) {
  (void)aclrtFree(nullptr);
  const char* text = aclGetRecentErrMsg();
  ASSERT_NE(text, nullptr);
  const std::string copy = text;
  (void)aclrtFreeHost(nullptr);  // a new message does not change the returned text
  EXPECT_EQ(copy, text);
  (void)aclGetRecentErrMsg();
}

// Callers report errors from destructors of their thread-local objects.
struct ReportsLate {
  std::string* seen;
  ~ReportsLate() {
    (void)aclrtFree(nullptr);
    const char* text = aclGetRecentErrMsg();
    *seen = text != nullptr ? text : "nothing";
  }
};

TEST(ErrorTextTest, WorksInThreadLocalDestructors) {
  std::string seen;
  std::thread([&] {
    thread_local ReportsLate late{&seen};
    late.seen = &seen;
    (void)aclrtFreeHost(nullptr);
  }).join();
  EXPECT_NE(seen.find("aclrtFree: devPtr is NULL"), std::string::npos) << seen;
  EXPECT_NE(seen.find("aclrtFreeHost: "), std::string::npos) << seen;
}

}  // namespace
