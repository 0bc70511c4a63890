// Tests the configuration file of aclInit: JSON, files that cannot be read, and other paths than at first.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "runtime/runtime_test.h"

namespace {

using namespace runtime_test;

class ConfigFileTest : public testing::Test {
 protected:
  void SetUp() override {
    (void)aclGetRecentErrMsg();
    folder = std::filesystem::temp_directory_path() / ("openaclnn_config_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override {
    std::filesystem::remove_all(folder);
    while (aclFinalize() == 0) {
    }
    (void)aclGetRecentErrMsg();
  }
  std::string file(const std::string& contents) {
    const std::string path = folder / ("file" + std::to_string(++files) + ".json");
    if (std::FILE* out = std::fopen(path.c_str(), "w")) {
      std::fwrite(contents.data(), 1, contents.size(), out);
      std::fclose(out);
    }
    return path;
  }
  void expect_init(int code, const std::string& contents) {
    const std::string path = file(contents);
    SCOPED_TRACE(contents.substr(0, 60));
    expect(code, aclInit(path.c_str()));
    if (code == 0) expect(0, aclFinalize());
  }

  std::filesystem::path folder;
  int files = 0;
};

TEST_F(ConfigFileTest, JsonOfEveryKind) {
  const std::string deep10 = std::string(10, '[') + std::string(10, ']');
  for (const std::string& good :
       {std::string("{}"), std::string(" \t\r\n[ ] "), std::string("null"), std::string("true"),
        std::string("-0.5e+10"), std::string("0"), std::string("\"\\u00e9\\n\\\"\\/\""),
        std::string(R"({"a": [1, 2.5, {"b": false}], "c": "d"})"), deep10, std::string("1E5"),
        std::string("\"\xC3\xA9\"")}) {
    expect_init(0, good);
  }
  for (
      const std::string& bad :
      {std::string(""),          std::string(" "),          std::string("{"),           std::string("{]"),
       std::string("[1,]"),      std::string("{\"a\":}"),   std::string("{\"a\" 1}"),   std::string("{a: 1}"),
       std::string("01"),        std::string("1."),         std::string(".5"),          std::string("-"),
       std::string("1e"),        std::string("+1"),         std::string("tru"),         std::string("nulll"),
       std::string("'a'"),       std::string("\"\\x\""),    std::string("\"\\u12g4\""), std::string("\"abc"),
       std::string("\"a\nb\""),  std::string("{} {}"),      std::string("[1 2]"),       "[" + deep10 + "]",
       std::string(100000, '['), std::string(1 << 19, '{'), std::string("{}\0", 3)}) {
    expect_init(100006, bad);
  }
  const std::string path = file("{\"a\": 1,}");
  expect(100006, aclInit(path.c_str()), {path, "is not valid JSON", "byte "});
}

TEST_F(ConfigFileTest, FilesThatCannotBeRead) {
  const std::string missing = folder / "missing.json";
  expect(100003, aclInit(missing.c_str()), {missing, "No such file"});
  expect(100003, aclInit(folder.c_str()), {"not a regular file"});
  expect(100003, aclInit("/dev/null"), {"not a regular file"});
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect(100003, aclInit(pipe.c_str()), {"not a regular file"});  // and does not wait for a writer
  expect_init(0, "[" + std::string((1 << 20) - 2, ' ') + "]");
  expect_init(100003, "[" + std::string((1 << 20) - 1, ' ') + "]");
  std::string long_path(5000, 'x');
  expect(100003, aclInit(long_path.c_str()));
}

// Callers write "" for no file.
TEST_F(ConfigFileTest, AnEmptyPathIsNoFile) {
  expect(0, aclInit(""));
  expect(100002, aclInit(nullptr), {"already initialised"});
  expect(100000, aclInit(file("{}").c_str()), {"NULL"});
}

TEST_F(ConfigFileTest, AnotherPathThanAtFirst) {
  const std::string first = file("{}"), second = file("{}");
  expect(0, aclInit(first.c_str()));
  expect(100002, aclInit(first.c_str()));
  expect(100000, aclInit(second.c_str()), {second, first});
  expect(100000, aclInit(nullptr), {first});
  uint64_t left = 0;
  expect(0, aclFinalizeReference(&left));
  EXPECT_EQ(left, 1u);  // the rejected calls did not count
  expect(0, aclFinalize());
  expect(0, aclInit(second.c_str()));
}

}  // namespace
