// Readers of dumps: calls of every function, a dump that msprobe wrote, and hostile variants.
#include "judge/dump.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "files/errors.h"
#include "judge/api_names.h"
#include "judge/dump_folder.h"
#include "support/paths.h"

namespace {

namespace fs = std::filesystem;
using namespace openaclnn_judge;
using namespace openaclnn_test;
using openaclnn_verify::Shape;
using Json = MsprobeFolder::Json;

TEST(MsprobeDumps, OfMsprobeItselfAreRead) {
  const std::vector<DumpedCall> calls = read_dump(std::string(test_paths::msprobe_folder) + "/dump");
  std::vector<std::string> labels;
  std::map<std::string, DumpedCall> by_label;
  for (const DumpedCall& call : calls) {
    labels.push_back(call.call.label);
    by_label[call.call.label] = call;
  }
  const std::string at = "step0/proc/";
  EXPECT_EQ(labels, (std::vector<std::string>{
                        at + "Functional.embedding.0.forward", at + "Functional.embedding.1.forward",
                        at + "Torch.embedding.0.forward", at + "Functional.embedding.2.forward",
                        at + "Functional.embedding.0.backward", at + "Functional.embedding.1.backward",
                        at + "Torch.embedding.0.backward"}));
  EXPECT_EQ(by_label[at + "Functional.embedding.2.forward"].skipped,
            "it has the argument max_norm, which no operator supports");
  by_label.erase(at + "Functional.embedding.2.forward");
  for (const auto& [label, call] : by_label) expect_right(call);
  const Call& backward = by_label[at + "Functional.embedding.0.backward"].call;
  EXPECT_EQ(backward.values.integer("paddingIdx"), 4);  // -1 of 5 rows
  EXPECT_EQ(backward.values.integer("scaleGradByFreq"), 1);
  EXPECT_EQ(by_label[at + "Torch.embedding.0.backward"].call.results.at("out")[0].dtype, ACL_BF16);
}

TEST(MsprobeDumps, HaveTokenCompressionAndItsGradients) {
  MsprobeFolder dump;
  add_compress(dump);
  dump.add_forward(
      "NPU.npu_nsa_compress_grad.0",
      {dump.tensor("a.npy", kGrad), dump.tensor("b.npy", kTokens), dump.tensor("c.npy", kWeight)},
      {{"compress_block_size", dump.number(2)},
       {"compress_stride", dump.number(1)},
       {"actual_seq_len", nullptr}},
      {{dump.tensor("d.npy", kTokensGrad), dump.tensor("e.npy", kWeightGrad)}});
  dump.write();
  const std::vector<DumpedCall> calls = read_dump(dump.path());
  ASSERT_EQ(calls.size(), 3u);
  for (const DumpedCall& call : calls) expect_right(call);
}

TEST(MsprobeDumps, GiveGradientsOfOneArgument) {
  MsprobeFolder dump;
  add_compress(dump);
  const std::string backward = "NPU.npu_nsa_compress.0.backward";
  dump.data[backward]["output"].erase(0);  // the tokens needed no gradient
  dump.write();
  const DumpedCall call = read_dump(dump.path()).at(0);
  EXPECT_EQ(call.call.label, backward);
  EXPECT_FALSE(call.call.results.contains("inputGradOut"));
  EXPECT_EQ(numbers(call.call.results.at("weightGradOut")[0]), numbers(kWeightGrad));
}

TEST(MsprobeDumps, HaveCompressionIntoACache) {
  MsprobeFolder dump;
  const Array slots = array_of<int32_t>(ACL_INT32, {1}, {1});
  dump.add_forward("NPU.npu_nsa_compress_infer.0",
                   {dump.tensor("x.npy", floats({2, 1, 1}, {2, 3})), dump.tensor("w.npy", kWeight),
                    dump.tensor("s.npy", slots), dump.number(2), dump.number(1), dump.number(0)},
                   {{"actual_seq_len", {dump.number(2)}},
                    {"block_table", nullptr},
                    {"cache", dump.tensor("c.npy", floats({2, 1, 1}, {7, 7}))}},
                   {dump.tensor("k.npy", floats({2, 1, 1}, {7, 32}))});
  dump.write();
  expect_right(read_dump(dump.path()).at(0));
}

TEST(MsprobeDumps, HaveOptimizers) {
  MsprobeFolder dump;
  const auto one = [&](const char* name, float value) { return dump.tensor(name, floats({1}, {value})); };
  // m = 0.1, v = 0.001 and a first step of lr = 0.1 in the direction of the gradient.
  for (const char* name : {"NPU.npu_apply_fused_ema_adamw.0", "MindSpeed.npu_fused_ema_adamw.0"}) {
    dump.add_forward(
        name,
        {one("g.npy", 1), one("var.npy", 1), one("zero.npy", 0), one("zero.npy", 0), one("zero.npy", 0),
         dump.number(1)},
        {{"lr", dump.number(0.1)}, {"ema_decay", dump.number(0.5)}, {"mode", dump.number(1)}},
        {one("var1.npy", 0.9F), one("m1.npy", 0.1F), one("v1.npy", 0.001F), one("s1.npy", 0.45F)});
  }
  const Json numbers = {dump.number(1),    dump.number(1),    dump.number(0.1),
                        dump.number(0),    dump.number(0.9),  dump.number(0.999),
                        dump.number(1e-8), one("g.npy", 1),   nullptr,
                        nullptr,           dump.number(false)};
  const Json state = {one("var.npy", 1), one("zero.npy", 0), one("zero.npy", 0)};
  const Json updated = {one("var1.npy", 0.9F), one("m1.npy", 0.1F), one("v1.npy", 0.001F)};
  dump.add_forward("NPU.npu_apply_adam_w.3", numbers, {{"out", state}}, updated);
  Json positional = numbers;
  for (const Json& tensor : state) positional.push_back(tensor);
  dump.add_forward("NPU.npu_apply_adam_w_out.0", positional, Json::object(), updated);
  dump.write();
  const std::vector<DumpedCall> calls = read_dump(dump.path());
  ASSERT_EQ(calls.size(), 4u);
  for (const DumpedCall& call : calls) expect_right(call);
}

TEST(MsprobeDumps, HaveGradientsOfBiasesAndTables) {
  MsprobeFolder dump;
  const Json rows = dump.tensor("rows.npy", floats({3, 1}, {1, 2, 3}));
  for (const char* name : {"NPU.npu_grouped_bias_add_grad.0", "Torch.grouped_bias_add_grad.0"}) {
    dump.add_forward(name, {rows, dump.tensor("groups.npy", longs({2}, {1, 2})), dump.number(1)}, nullptr,
                     {dump.tensor("sums.npy", floats({2, 1}, {1, 5}))});
  }
  dump.add_forward("Aten.embedding_dense_backward.default.0",
                   {rows, dump.tensor("indices.npy", longs({3}, {1, 0, 1})), dump.number(3), dump.number(-1),
                    dump.number(false)},
                   Json::object(), {dump.tensor("table.npy", floats({3, 1}, {2, 4, 0}))});
  dump.write();
  const std::vector<DumpedCall> calls = read_dump(dump.path());
  ASSERT_EQ(calls.size(), 3u);
  for (const DumpedCall& call : calls) expect_right(call);
}

// The dumps that this library writes itself.
TEST(MsprobeDumps, HaveOperatorsByName) {
  MsprobeFolder dump;
  const Json tokens = dump.tensor("x.npy", kTokens), weight = dump.tensor("w.npy", kWeight);
  const Json output = {dump.tensor("y.npy", kWindows)};
  dump.add_forward("Aten.NsaCompress.0", Json::array(),
                   {{"input", tokens},
                    {"weight", weight},
                    {"actSeqLenOptional", {dump.number(3)}},
                    {"layoutOptional", nullptr},
                    {"compressBlockSize", dump.number(2)},
                    {"compressStride", dump.number(1)},
                    {"actSeqLenType", dump.number(0)}},
                   output);
  dump.add_forward("Aten.aclnnNsaCompress.1", {tokens, weight}, Json::object(), output);
  const auto list = [&](const char* name, float value) {
    return Json::array({dump.tensor(name, floats({1}, {value}))});
  };
  dump.add_forward(
      "Aten.openaclnnApplyFusedEmaAdamList.0", Json::array(),
      {{"grads", list("g.npy", 1)},
       {"varRefs", list("var.npy", 1)},
       {"mRefs", list("zero.npy", 0)},
       {"vRefs", list("zero.npy", 0)},
       {"sRefs", list("zero.npy", 0)},
       {"varCopiesOptional", nullptr},
       {"step", dump.tensor("step.npy", longs({1}, {1}))},
       {"gradScaleOptional", nullptr},
       {"foundInfOptional", nullptr},
       {"lr", dump.number(0.1)},
       {"emaDecay", dump.number(0.5)},
       {"beta1", dump.number(0.9)},
       {"beta2", dump.number(0.999)},
       {"eps", dump.number(1e-8)},
       {"mode", dump.number(1)},
       {"biasCorrection", dump.number(true)},
       {"weightDecay", dump.number(0)}},
      {list("var1.npy", 0.9F), list("m1.npy", 0.1F), list("v1.npy", 0.001F), list("s1.npy", 0.45F)});
  dump.write();
  const std::vector<DumpedCall> calls = read_dump(dump.path());
  ASSERT_EQ(calls.size(), 3u);
  expect_right(calls[0]);
  EXPECT_EQ(calls[1].skipped, "the argument compressBlockSize was not saved");
  expect_right(calls[2]);
}

TEST(MsprobeDumps, LeaveOtherCallsOut) {
  MsprobeFolder dump;
  add_compress(dump);
  dump.data["Torch.mul.0.forward"] = 3;
  dump.data["Module.npu_nsa_compress.0.forward"] = 3;
  dump.data["Tensor.embedding.0.forward"] = 3;
  dump.write();
  EXPECT_EQ(read_dump(dump.path()).size(), 2u);
}

TEST(MsprobeDumps, SayWhyCallsAreSkipped) {
  const std::string call = "NPU.npu_nsa_compress.0", forward = call + ".forward";
  const auto skipped = [&](auto change, const std::string& task = "tensor") {
    MsprobeFolder dump;
    add_compress(dump);
    change(dump.data);
    dump.write(task);
    return read_dump(dump.path()).back().skipped;
  };
  EXPECT_EQ(skipped([](Json&) {}, "statistics"), "its tensors were not saved (task statistics)");
  EXPECT_EQ(skipped([&](Json& data) { data[forward]["input_args"][0].erase("data_name"); }),
            "input was not saved");
  EXPECT_EQ(skipped([&](Json& data) { data[forward]["output"] = {nullptr}; }),
            "none of its results was saved");
  EXPECT_EQ(skipped([&](Json& data) { data[forward]["input_kwargs"]["scale"] = 1; }),
            "it has the argument scale, which the known signature lacks");
  EXPECT_EQ(skipped([&](Json& data) {
              for (int k = 0; k < 4; ++k) data[forward]["input_args"].push_back(nullptr);
            }),
            "it has 8 positional arguments; the known signature has 5");
  EXPECT_EQ(skipped([&](Json& data) { data[forward]["input_args"][0]["placements"] = Json::array(); }),
            "its tensors are distributed over devices");
  EXPECT_EQ(skipped([&](Json& data) { data.erase(forward); }), "its forward call wasn't recorded");
}

TEST(MsprobeDumps, InStepsAndRanksAreReadInOrder) {
  const ScratchFolder folder;
  for (const char* inner : {"step10/rank0", "step2/rank1", "step2/rank0"}) {
    MsprobeFolder dump;
    add_compress(dump);
    dump.write();
    fs::create_directories(folder.path(inner));
    fs::copy(dump.path(), folder.path(inner), fs::copy_options::recursive);
  }
  std::vector<std::string> labels;
  for_each_dumped_call(folder.path(), [&](DumpedCall call) { labels.push_back(call.call.label); });
  ASSERT_EQ(labels.size(), 6u);
  EXPECT_EQ(labels[0], "step2/rank0/NPU.npu_nsa_compress.0.backward");
  EXPECT_EQ(labels[2], "step2/rank1/NPU.npu_nsa_compress.0.backward");
  EXPECT_EQ(labels[5], "step10/rank0/NPU.npu_nsa_compress.0.forward");
}

TEST(MsprobeDumps, MayLieBesideLinks) {
  const ScratchFolder folder;
  MsprobeFolder dump;
  add_compress(dump);
  dump.write();
  fs::create_directories(folder.path("step0"));
  fs::copy(dump.path(), folder.path("step0"), fs::copy_options::recursive);
  // Folders have no order, so that one of many links comes last.
  for (int n = 0; n < 20; ++n)
    fs::create_symlink("missing", fs::path(folder.path()) / ("link" + std::to_string(n)));
  fs::create_directory_symlink(".", folder.path("step1"));  // a search that followed it would not end
  EXPECT_EQ(read_dump(folder.path()).size(), 2u);
}

TEST(MsprobeDumps, OfBfloat16MayHaveFloatFiles) {
  MsprobeFolder dump;
  add_compress(dump);
  for (const char* list : {"input_args", "output"}) {
    for (Json& entry : dump.data["NPU.npu_nsa_compress.0.forward"][list])
      if (entry.contains("dtype")) entry["dtype"] = "BFloat16";
  }
  dump.data.erase("NPU.npu_nsa_compress.0.backward");
  dump.write();
  const DumpedCall call = read_dump(dump.path()).at(0);
  EXPECT_EQ(call.call.inputs.at("input")[0].dtype, ACL_BF16);
  expect_right(call);
  const std::string tokens = "dump_tensor_data/NPU.npu_nsa_compress.0.forward.input.0.npy";
  dump.folder.write(tokens, npy_bytes(floats({3, 1, 1}, {1, 2, 1.001F})));
  EXPECT_EQ(refusal(dump.path()),
            dump.path() + "/dump.json: NPU.npu_nsa_compress.0.forward: " + dump.path() + "/" + tokens +
                ": element 2 isn't a bfloat16 number, but the dump says that the tensor is bfloat16");
}

TEST(OwnDumps, HaveTheArguments) {
  const ScratchFolder folder;
  folder.write("12-0-aclnnGroupedBiasAddGradV2/gradY.npy", npy_bytes(floats({2, 1}, {1, 2})));
  folder.write("12-0-aclnnGroupedBiasAddGradV2/call.json",
               call_json(R"({"name": "gradY", "given": true, "tensor": )" + kOwnTensor +
                         R"([2, 1], "file": "gradY.npy"}}, {"name": "groupIdxOptional", "given": false},)"
                         R"({"name": "groupIdxType", "given": true, "value": 1},)"
                         R"({"name": "out", "given": true, "tensor": )" +
                         kOwnTensor + R"([1, 1]}})"));
  const DumpedCall dumped = read_dump(folder.path()).at(0);
  EXPECT_EQ(dumped.call.label, "12-0-aclnnGroupedBiasAddGradV2/GroupedBiasAddGradV2");
  EXPECT_EQ(dumped.skipped,
            "OPENACLNN_DUMP saves no results; `openaclnn check --replay` judges those of this library");
  EXPECT_EQ(numbers(dumped.call.inputs.at("gradY")[0]), (std::vector<double>{1, 2}));
  EXPECT_EQ(dumped.call.values.integer("groupIdxType"), 1);
  EXPECT_EQ(dumped.call.values.tensor("out").dims, (Shape{1, 1}));
  EXPECT_FALSE(dumped.call.values.has("groupIdxOptional"));
}

TEST(ApiKeys, HaveAPrefixANameANumberAndADirection) {
  ApiKey key;
  ASSERT_TRUE(parse_api_key("NPU.npu_nsa_compress.12.backward", key));
  EXPECT_EQ(key.prefix, "NPU");
  EXPECT_EQ(key.name, "npu_nsa_compress");
  EXPECT_EQ(key.call, "NPU.npu_nsa_compress.12");
  EXPECT_TRUE(key.is_backward);
  for (const char* text : {"", ".", "forward", ".0.forward", "a.forward", "a.b.forward", "a.b.0.input",
                           "Module.fc.Linear.forward.0", "Module.fc.Linear.0.forward", "a.b.-1.forward"})
    EXPECT_FALSE(parse_api_key(text, key)) << text;
}

}  // namespace
