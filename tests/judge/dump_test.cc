// Readers of dumps: calls of every function, a dump that msprobe wrote, and hostile variants.
#include "judge/dump.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "files/errors.h"
#include "judge/api_names.h"
#include "judge/dump_folder.h"

namespace {

namespace fs = std::filesystem;
using namespace openaclnn_judge;
using namespace openaclnn_test;
using openaclnn_verify::Shape;
using Json = MsprobeFolder::Json;

constexpr const char* kMsprobeFolder = OPENACLNN_MSPROBE_FOLDER;

std::string refusal(const std::string& folder) {
  try {
    read_dump(folder);
    return "";
  } catch (const openaclnn_files::BadInput& error) {
    return error.what();
  }
}

// The elements of an array.
std::vector<double> numbers(const Array& array) {
  std::vector<double> all(static_cast<size_t>(array.numel()));
  array.widen(0, all);
  return all;
}

// Every result is within the bound of the golden.
void expect_right(const DumpedCall& dumped) {
  SCOPED_TRACE(dumped.call.label);
  ASSERT_EQ(dumped.skipped, "");
  const openaclnn_verify::Golden golden = golden_of(dumped.call, 1);
  ASSERT_FALSE(dumped.call.results.empty());
  for (const openaclnn_verify::GoldenOutput& output : golden.outputs) {
    const auto found = dumped.call.results.find(output.parameter);
    ASSERT_NE(found, dumped.call.results.end()) << output.parameter;
    const Array& result = found->second.at(0);
    ASSERT_EQ(result.dims, output.dims) << output.parameter;
    ASSERT_EQ(result.dtype, output.dtype) << output.parameter;
    const std::vector<double> given = numbers(result);
    for (size_t k = 0; k < given.size(); ++k) EXPECT_NEAR(given[k], output.exact[k], 1e-6 + output.bound[k]);
  }
}

TEST(MsprobeDumps, OfMsprobeItselfAreRead) {
  const std::vector<DumpedCall> calls = read_dump(std::string(kMsprobeFolder) + "/dump");
  std::vector<std::string> labels;
  std::map<std::string, DumpedCall> by_label;
  for (const DumpedCall& call : calls) {
    labels.push_back(call.call.label);
    by_label[call.call.label] = call;
  }
  const std::string at = "step0/proc1/";
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

// Two windows of [1, 2, 3] with weights 1 and 10.
const Array kTokens = floats({3, 1, 1}, {1, 2, 3}), kWeight = floats({2, 1}, {1, 10}),
            kWindows = floats({2, 1, 1}, {21, 32}), kGrad = floats({2, 1, 1}, {1, 2}),
            kTokensGrad = floats({3, 1, 1}, {1, 12, 20}), kWeightGrad = floats({2, 1}, {5, 8});

void add_compress(MsprobeFolder& dump, const std::string& call = "NPU.npu_nsa_compress.0") {
  dump.add_forward(call,
                   {dump.tensor(call + ".forward.input.0.npy", kTokens),
                    dump.tensor(call + ".forward.input.1.npy", kWeight), dump.number(2), dump.number(1)},
                   {{"actual_seq_len", {dump.number(3)}}},
                   {dump.tensor(call + ".forward.output.0.npy", kWindows)});
  dump.add_backward(call, {dump.tensor(call + ".backward.input.0.npy", kGrad)},
                    {dump.tensor(call + ".backward.output.0.npy", kTokensGrad),
                     dump.tensor(call + ".backward.output.1.npy", kWeightGrad)});
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

// Changes of a valid dump.json, and the error message after the name of the call.
TEST(MsprobeDumps, WithContradictionsAreRefused) {
  const std::string forward = "NPU.npu_nsa_compress.0.forward", backward = "NPU.npu_nsa_compress.0.backward";
  struct Variant {
    const char* pointer;
    Json value;
    std::string expected;
  };
  const std::string at = "/" + forward, back = "/" + backward;
  const std::string file = "dump_tensor_data/" + forward + ".input.0.npy: ";
  const std::string huge = std::string(1000, 'x');
  const std::pair<std::string, std::pair<Json, std::string>> variants[] = {
      {at + "/input_args", {3, "input_args isn't a list"}},
      {at + "/input_kwargs", {3, "input_kwargs isn't an object"}},
      {at + "/input_kwargs/input", {3, "input is both a positional and a keyword argument"}},
      {at + "/output", {Json::object(), "output isn't a list"}},
      {at + "/output/0", {3, "output 0 isn't a tensor"}},
      {at + "/input_args/0", {nullptr, "the argument input is missing"}},
      {at + "/input_args/3", {nullptr, "the argument compress_stride is missing"}},
      {at + "/input_args/3", {"four", "compress_stride isn't an integer from -2^63 to 2^63 - 1"}},
      {at + "/input_args/3/value", {1.5, "compress_stride isn't an integer from -2^63 to 2^63 - 1"}},
      {at + "/input_args/3/value",
       {18'000'000'000'000'000'000ULL, "compress_stride isn't an integer from -2^63 to 2^63 - 1"}},
      {at + "/input_args/3/value", {{1, 2}, "compress_stride isn't one integer"}},
      {at + "/input_args/0", {"text", "input isn't a number"}},
      {at + "/input_args/0/dtype", {3, "dtype of input isn't a text"}},
      {at + "/input_args/0/dtype", {"torch.float99", "input has the unrecognized dtype 'torch.float99'"}},
      {at + "/input_args/0/dtype", {huge, "input has the unrecognized dtype '" + huge.substr(0, 80) + "…'"}},
      {at + "/input_args/0/shape", {3, "shape isn't a list"}},
      {at + "/input_args/0/shape/0",
       {-3, "the shape of input has an entry that isn't an integer from 0 to 2^63 - 1"}},
      {at + "/input_args/0/shape", {{1, 1, 1, 1, 1, 1, 1, 1, 3}, "input has 9 dims; at most 8 are accepted"}},
      {at + "/input_args/0/data_name", {3, "data_name of input isn't the name of a file"}},
      {at + "/input_args/0/data_name",
       {"../secret.npy", "data_name of input names a file outside the dump: ../secret.npy"}},
      {at + "/input_args/0/data_name",
       {"/etc/passwd", "data_name of input names a file outside the dump: /etc/passwd"}},
      {back + "/input", {Json::array(), "input has 0 entries; it must have 1"}},
      {back + "/output/0/shape",
       {{3, 1}, "output 0 has shape [3, 1], but no argument that needs a gradient has it"}},
      {at, {3, forward + " isn't an object"}},
  };
  for (const auto& [pointer, change] : variants) {
    SCOPED_TRACE(pointer + " = " + change.first.dump().substr(0, 100));
    MsprobeFolder dump;
    add_compress(dump);
    const std::string changed = pointer.starts_with(back) ? backward : forward;
    if (changed == forward) dump.data.erase(backward);
    dump.data[Json::json_pointer(pointer)] = change.first;
    dump.write();
    EXPECT_EQ(refusal(dump.path()), dump.path() + "/dump.json: " + changed + ": " + change.second);
  }
}

TEST(MsprobeDumps, WithBadTensorFilesAreRefused) {
  MsprobeFolder dump;
  add_compress(dump);
  dump.data.erase("NPU.npu_nsa_compress.0.backward");
  dump.write();
  const std::string name = "dump_tensor_data/NPU.npu_nsa_compress.0.forward.input.0.npy";
  const std::string start =
      dump.path() + "/dump.json: NPU.npu_nsa_compress.0.forward: " + dump.folder.path(name) + ": ";
  const std::string good = npy_bytes(kTokens);
  ASSERT_EQ(refusal(dump.path()), "");
  for (size_t size = 0; size < good.size(); size += 5) {
    dump.folder.write(name, good.substr(0, size));
    EXPECT_TRUE(refusal(dump.path()).starts_with(start)) << size;
  }
  dump.folder.write(name, npy_bytes(floats({3, 2, 1}, {1, 2, 3, 4, 5, 6})));
  EXPECT_EQ(refusal(dump.path()),
            start + "the file has torch.float32 [3, 2, 1], but the dump says torch.float32 [3, 1, 1]");
  dump.folder.write(name, npy_bytes(longs({3, 1, 1}, {1, 2, 3})));
  EXPECT_EQ(refusal(dump.path()),
            start + "the file has torch.int64 [3, 1, 1], but the dump says torch.float32 [3, 1, 1]");
  // A file that claims 2^60 elements takes no memory.
  dump.folder.write(name, openaclnn::npy_header(ACL_FLOAT, std::vector<int64_t>{1LL << 30, 1LL << 30}));
  EXPECT_TRUE(refusal(dump.path()).starts_with(start));
  fs::remove(dump.folder.path(name));
  EXPECT_EQ(refusal(dump.path()), start + "No such file or directory");
}

TEST(MsprobeDumps, WithMalformedJsonAreRefused) {
  const auto said = [](const std::string& text) {
    const ScratchFolder folder;
    folder.write("dump.json", text);
    const std::string message = refusal(folder.path());
    const std::string start = folder.path("dump.json") + ": ";
    if (message.empty()) return message;
    EXPECT_TRUE(message.starts_with(start)) << message;
    return message.substr(start.size());
  };
  EXPECT_EQ(said(""), "it isn't valid JSON: error in line 1");
  EXPECT_EQ(said("{\"data\":\n "), "it isn't valid JSON: error in line 2");
  EXPECT_EQ(said("[1, 2]"), "it isn't an object with an object data");
  EXPECT_EQ(said(R"({"data": [1]})"), "it isn't an object with an object data");
  EXPECT_EQ(said("{\"data\": \"\xFF\"}"), "it isn't valid JSON: error in line 1");
  EXPECT_EQ(said(R"({"data": )" + std::string(1'000'000, '[')), "it is nested more than 64 levels deep");
  const std::string numbers =
      R"({"data": {"Torch.mul.0.forward": [NaN, -Infinity, "NaN \" NaN", Infinity]}})";
  EXPECT_EQ(said(numbers), "");
  EXPECT_EQ(said(numbers + "\n\nx"), "it isn't valid JSON: error in line 3");
}

TEST(Dumps, ThatAreMissingAreRefused) {
  const ScratchFolder folder;
  EXPECT_EQ(refusal(folder.path("none")), folder.path("none") + ": No such file or directory");
  EXPECT_EQ(refusal(folder.path()), folder.path() + ": neither this folder nor its subfolders have a dump");
  folder.write("step0/rank0/construct.json", "{}");
  EXPECT_EQ(
      refusal(folder.path()),
      folder.path("step0/rank0") + ": it has no dump.json, which msprobe writes when the debugger stops");
}

// A dump of msprobe with a changed byte is read or refused with one error message.
TEST(MsprobeDumps, WithAnyChangedByteAreReadOrRefused) {
  const ScratchFolder folder;
  fs::copy(std::string(kMsprobeFolder) + "/dump/step0/proc1", folder.path(), fs::copy_options::recursive);
  std::ifstream file(folder.path("dump.json"), std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  int refused = 0, changed = 0;
  for (size_t at = 0; at < good.size(); at += 31) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x04);
    folder.write("dump.json", bad);
    refused += refusal(folder.path()).empty() ? 0 : 1;
    ++changed;
  }
  EXPECT_GT(refused, changed / 4);
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
