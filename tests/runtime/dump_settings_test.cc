// Tests how aclInit interprets the section "dump" of acl.json, and what a relative OPENACLNN_DUMP means.
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>

#include "runtime/counter.h"
#include "runtime/dump_test.h"
#include "support/subprocess.h"

namespace {

using namespace runtime_test;
namespace fs = std::filesystem;

class DumpSettingsTest : public DumpTest {};

TEST_F(DumpSettingsTest, WithoutTheSwitchTheSectionHasNoEffect) {
  for (const char* members :
       {"", R"("dump_path": $)", R"("dump_path": $, "dump_op_switch": "off")",
        R"("dump_path": $, "dump_mode": "nonsense", "dump_list": [{"model_name": "m"}], "dump_step": "0|2")",
        R"("dump_scene": "lite_exception")", R"("dump_path": 1)", R"("dump_switch": "off")"}) {
    SCOPED_TRACE(members);
    expect(0, start(members));
    // Nothing is dumped, so nothing is checked.
    expect(0, aclDumpOpTensors(nullptr, nullptr, nullptr, 3, 4, this));
    Counter counter;
    expect(0, counter.add(stream));
    finish();
    EXPECT_FALSE(fs::exists(dump_path));
    expect(0, aclrtSetDevice(0));
    expect(0, aclrtCreateStream(&stream));
  }
}

TEST_F(DumpSettingsTest, SettingsThatThisLibraryDoesNotFollow) {
  struct Refused {
    const char* members;
    std::initializer_list<std::string_view> parts;
  };
  for (const Refused& refused : std::initializer_list<Refused>{
           {R"("dump_mode": "all")", {"dump.dump_op_switch is \"on\" but dump.dump_path is missing"}},
           {R"("dump_path": 3)", {"dump.dump_path is 3", "path of a folder"}},
           {R"("dump_path": "")", {"dump.dump_path is \"\"", "path of a folder"}},
           {R"("dump_path": "a\u0000b")", {"path of a folder"}},
           {R"("dump_path": $, "dump_mode": "both")",
            {"dump.dump_mode is \"both\"", "\"output\" or \"input\" or \"all\""}},
           {R"("dump_path": $, "dump_level": "kernel")",
            {"dump.dump_level is \"kernel\"", "\"op\" or \"all\""}},
           {R"("dump_path": $, "dump_data": "stats")", {"dump.dump_data is \"stats\"", "\"tensor\""}},
           {R"("dump_path": $, "dump_debug": "on")", {"dump.dump_debug is \"on\"", "\"off\""}},
           {R"("dump_path": $, "dump_step": "0|3-5")", {"dump.dump_step is \"0|3-5\"", "must be \"\""}},
           {R"("dump_path": $, "dump_switch": "off")", {"dump.dump_switch is \"off\"", "\"on\""}},
           {R"("dump_path": $, "dump_path": "x")", {"dump.dump_path is \"x\"", "repeated"}},
           {R"("dump_path": $, "dump_scene": "watcher")", {"dump.dump_scene is \"watcher\"", "dump_path"}},
           {R"("dump_path": $, "dump_list": "all")", {"dump.dump_list is \"all\"", "array of objects"}},
           {R"("dump_path": $, "dump_list": ["Add"])", {"dump.dump_list is [\"Add\"]"}},
           {R"("dump_path": $, "dump_list": [{"layer": "Add"}])", {"array of operators' names"}},
           {R"("dump_path": $, "dump_list": [{"layer": [1]}])", {"array of operators' names"}},
           {R"("dump_path": $, "dump_list": [{"layers": []}])", {"array of operators' names"}},
           {R"("dump_path": "/dev/null/x")", {"dump.dump_path is '/dev/null/x'", "Not a directory"}},
           {R"("dump_path": "/dev/null")", {"dump.dump_path is '/dev/null'", "Not a directory"}}}) {
    SCOPED_TRACE(refused.members);
    expect(100009, start(refused.members + std::string(R"(, "dump_op_switch": "on")")), refused.parts);
    expect(100037, aclFinalize());  // a refused aclInit leaves nothing
  }
  for (const auto& [members, value] :
       {std::pair(R"("dump_op_switch": "ON")", "dump.dump_op_switch is \"ON\""),
        std::pair(R"("dump_switch": true)", "dump.dump_switch is true")}) {
    expect(100009, start(std::string(R"("dump_path": $, )") + members), {value, "\"on\" or \"off\""});
    expect(100037, aclFinalize());
  }
  // A long value is cut in the message.
  const std::string longer(500, 'x');
  expect(100009, start(R"("dump_op_switch": "on", "dump_mode": ")" + longer + "\""), {"xxx...; it must be"});
  EXPECT_FALSE(fs::exists(dump_path));
}

TEST_F(DumpSettingsTest, HarmlessSettings) {
  expect(
      0,
      start(
          R"("dump_path": $, "dump_switch": "on", "dump_op_switch": "on", "dump_level": "all", "dump_step": "",
      "dump_data": "tensor", "dump_debug": "off", "dump_list": [{"model_name": "m", "layer": ["x"]}])"));
  Counter counter;
  expect(0, counter.add(stream));
  finish();
  EXPECT_NE(dump_json().find("Aten.ApplyFusedEmaAdam.0.forward"), std::string::npos);
}

TEST_F(DumpSettingsTest, EscapesAndRelativePaths) {
  const fs::path before = fs::current_path();
  fs::current_path(scratch.path());
  expect(0, start(R"("dump_path": "a\u002f\u00e9\ud83d\ude00\/c", "dump_op_switch": "on")"));
  fs::current_path(before);
  dump_path = scratch.path("a/\xC3\xA9\xF0\x9F\x98\x80/c");
  expect(0, dump({}, {}));
  finish();
  EXPECT_EQ(dump_json(),
            head() + "\n\"Aten.Add.0.forward\":{\"input_args\":[],\"input_kwargs\":{},\"output\":[]}}}\n");
}

class DumpInProcess : public RuntimeTest {};
PROCESS_TEST_F(DumpInProcess, FollowsNoChangeOfTheFolder) {
  fs::current_path("later");
  Counter counter;
  expect(0, counter.add(stream));
  expect(0, aclrtSynchronizeStream(stream));
}

TEST(DumpVariable, IsRelativeToTheFirstFolder) {
  const openaclnn_test::ScratchFolder scratch;
  fs::create_directory(scratch.path("later"));
  const fs::path before = fs::current_path();
  fs::current_path(scratch.path());
  const openaclnn_test::ProcessResult result =
      openaclnn_test::run_suite("Dump", {{"OPENACLNN_DUMP", "dumps:all"}});
  fs::current_path(before);
  EXPECT_TRUE(openaclnn_test::ran_and_passed(result)) << result.output;
  EXPECT_FALSE(fs::is_empty(scratch.path("dumps")));
  EXPECT_TRUE(fs::is_empty(scratch.path("later")));
}

}  // namespace
