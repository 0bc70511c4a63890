// Tests the dumps of operator calls that acl.json asks for.
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>

#include "runtime/counter.h"
#include "runtime/dump_test.h"
#include "runtime/lookup.h"

namespace {

using namespace runtime_test;
namespace fs = std::filesystem;

class DumpCallsTest : public DumpTest {};

TEST_F(DumpCallsTest, DumpsEveryCall) {
  start_all();
  Counter counter(2);
  expect(0, counter.add(stream, 0.5));
  expect(0, counter.add(stream, 0.5));
  finish();
  const std::string whole = dump_json(), key = "Aten.ApplyFusedEmaAdam.1.forward";
  // Numbers and flags, and the updated tensor before and after the call.
  for (
      const std::string& part :
      {std::string(R"("weightDecay":{"type":"float","value":0.5})"),
       std::string(R"("biasCorrection":{"type":"bool","value":false})"),
       std::string(R"("mode":{"type":"int","value":1})"),
       R"("varRef":{"type":"torch.Tensor","dtype":"torch.float32","shape":[2],"Max":1.0,"Min":1.0,"Mean":1.0,)"
       R"("Norm":1.4142135623730951,"requires_grad":false,"data_name":")" +
           key + R"(.kwargs.varRef.npy"})",
       R"("output":[{"type":"torch.Tensor","dtype":"torch.float32","shape":[2],"Max":2.5,"Min":2.5,"Mean":2.5,)"
       R"("Norm":3.5355339059327378,"requires_grad":false,"data_name":")" +
           key + R"(.output.0.npy"},)"})
    EXPECT_NE(whole.find(part), std::string::npos) << part << "\n" << whole;
  EXPECT_TRUE(whole.starts_with(head()));
  EXPECT_TRUE(whole.ends_with("]}}}\n"));
  const float before[] = {1, 1}, after[] = {2.5, 2.5};
  EXPECT_EQ(tensor_file(key + ".kwargs.varRef.npy"), npy("<f4", "(2, )", before, sizeof before));
  EXPECT_EQ(tensor_file(key + ".output.0.npy"), npy("<f4", "(2, )", after, sizeof after));
}

TEST_F(DumpCallsTest, ModesAndLists) {
  struct Selection {
    const char* members;
    bool inputs, outputs, is_selected;
  };
  int step = 0;
  for (const Selection& selection : std::initializer_list<Selection>{
           {R"("dump_list": [])", false, true, true},
           {R"("dump_mode": "output")", false, true, true},
           {R"("dump_mode": "input")", true, false, true},
           {R"("dump_mode": "all")", true, true, true},
           {R"("dump_list": [{"layer": ["Add"]}, {"layer": ["Embedding"]}])", false, true, true},
           {R"("dump_list": [{"layer": ["aclnnEmbedding"]}])", false, true, true},
           {R"("dump_list": [{"model_name": "m", "layer": ["Add"]}])", false, true, true},
           {R"("dump_list": [{"layer": ["Add"]}])", false, false, false}}) {
    SCOPED_TRACE(selection.members);
    expect(0, start(selection.members + std::string(R"(, "dump_path": $, "dump_op_switch": "on")")));
    Lookup lookup({3, 4});
    expect(0, lookup.enqueue(stream));
    expect(0, dump({}, {}, "other", "Add"));  // selected by its name
    finish();
    const std::string whole = dump_json(step);
    EXPECT_EQ(whole.find("Aten.Embedding.0.forward") != std::string::npos, selection.is_selected) << whole;
    EXPECT_EQ(whole.find("kwargs.indices.npy") != std::string::npos, selection.inputs) << whole;
    EXPECT_EQ(whole.find("output.0.npy") != std::string::npos, selection.outputs) << whole;
    EXPECT_EQ(tensor_files(step).size(), (selection.inputs ? 2u : 0u) + (selection.outputs ? 1u : 0u));
    ++step;  // each aclInit has its own folder
    expect(0, aclrtSetDevice(0));
    expect(0, aclrtCreateStream(&stream));
  }
}

TEST_F(DumpCallsTest, CallsWithBadDataAreDumped) {
  expect(0, start(R"("dump_path": $, "dump_op_switch": "on")"));
  Lookup bad({3, 77});
  expect(0, bad.enqueue(stream));
  expect(507035, aclrtSynchronizeStream(stream), {"indices[1] = 77"});
  finish();
  const float rows[] = {30, 0};
  EXPECT_EQ(tensor_file("Aten.Embedding.0.forward.output.0.npy"), npy("<f4", "(2, 1)", rows, sizeof rows));
}

TEST_F(DumpCallsTest, RefusedCallsAreNotDumped) {
  start_all();
  Counter counter;
  aclOpExecutor* const executor = counter.planned();
  expect(107017, aclnnApplyFusedEmaAdam(nullptr, 0, executor, this));
  expect(0, counter.add(stream));
  finish();
  EXPECT_NE(dump_json().find("ApplyFusedEmaAdam.0"), std::string::npos);
  EXPECT_EQ(dump_json().find("ApplyFusedEmaAdam.1"), std::string::npos);
}

// A dump that cannot be written doesn't disturb the program.
TEST_F(DumpCallsTest, CallsSucceedWithoutTheirDump) {
  start_all();
  fs::remove_all(dump_path);
  std::ofstream(dump_path.c_str()) << "a file";
  Counter counter;
  for (int k = 0; k < 3; ++k) expect(0, counter.add(stream));
  expect(0, aclrtSynchronizeStream(stream));
  EXPECT_EQ(counter.value(), 3.0f);
}

// With the section off again, calls are not dumped.
TEST_F(DumpCallsTest, EndsWithAclFinalize) {
  start_all();
  Counter counter;
  expect(0, counter.add(stream));
  finish();
  expect(0, aclrtSetDevice(0));
  expect(0, aclrtCreateStream(&stream));
  expect(0, counter.add(stream));
  expect(0, aclrtSynchronizeStream(stream));
  expect(0, aclDumpOpTensors(nullptr, nullptr, nullptr, 1, 1, nullptr));
  EXPECT_EQ(dump_json().find("ApplyFusedEmaAdam.1"), std::string::npos);
}

}  // namespace
