// Malformed dumps: each gets one error message that names the file.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "judge/dump.h"
#include "judge/dump_folder.h"
#include "support/paths.h"

namespace {

namespace fs = std::filesystem;
using namespace openaclnn_judge;
using namespace openaclnn_test;
using Json = MsprobeFolder::Json;

// Changes of a valid dump.json, and the error message after the name of the call.
TEST(MsprobeDumps, WithContradictionsAreRefused) {
  const std::string forward = "NPU.npu_nsa_compress.0.forward", backward = "NPU.npu_nsa_compress.0.backward";
  const std::string at = "/" + forward, back = "/" + backward;
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
      {at + "/input_args/0/data_name", {huge, "data_name of input has 1000 bytes; at most 255 are accepted"}},
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
  EXPECT_EQ(said(R"({"data": 1e999})"), "it isn't valid JSON: error in line 1");
  EXPECT_EQ(said(R"({"data": )" + std::string(1'000'000, '[')), "it is nested more than 64 levels deep");
  const std::string numbers =
      R"({"data": {"Torch.mul.0.forward": [NaN, -Infinity, "NaN \" NaN", Infinity]}})";
  EXPECT_EQ(said(numbers), "");
  EXPECT_EQ(said(numbers + "\n\nx"), "it isn't valid JSON: error in line 3");
}

TEST(OwnDumps, WithContradictionsAreRefused) {
  const ScratchFolder folder;
  folder.write("gradY.npy", npy_bytes(floats({2, 1}, {1, 2})));
  const auto said = [&](const std::string& text) {
    folder.write("call.json", text);
    const std::string message = refusal(folder.path());
    EXPECT_TRUE(message.starts_with(folder.path())) << message;
    return message.substr(std::min(message.size(), folder.path().size()));
  };
  const auto said_of_tensor = [&](const std::string& rest) {
    return said(call_json(R"({"name": "gradY", "given": true, "tensor": )" + kOwnTensor + rest + "}"));
  };
  EXPECT_EQ(said("{"), "/call.json: it isn't valid JSON: error in line 1");
  EXPECT_EQ(said("{}"), ": call.json isn't a dump in format 1");
  EXPECT_EQ(said(R"({"format": 1})"), ": call.json isn't a valid dump");
  EXPECT_EQ(said(call_json("")), ": call.json lacks the argument groupIdxType");
  EXPECT_EQ(said(call_json(R"({"name": "x", "given": false})")),
            ": call.json has the argument 'x', which GroupedBiasAddGradV2 doesn't have");
  EXPECT_EQ(said_of_tensor("3}"), ": call.json isn't a valid dump");
  EXPECT_EQ(said_of_tensor("[2], \"file\": \"gradY.npy\"}"),
            ": gradY.npy has another dtype or shape than call.json");
  EXPECT_EQ(said_of_tensor("[2, 1], \"file\": \"../gradY.npy\"}"),
            ": call.json names a file outside the dump: ../gradY.npy");
  EXPECT_EQ(said_of_tensor("[1, 1, 1, 1, 1, 1, 1, 1, 1]}"),
            ": call.json has a tensor of 9 dims; at most 8 are accepted");
  EXPECT_EQ(said_of_tensor("[-1]}"), ": a tensor of call.json has the dim -1; dims must not be negative");
  EXPECT_EQ(said_of_tensor("[4294967296, 4294967296]}"),
            ": a tensor of call.json has more than 2^63 - 1 bytes");
  EXPECT_EQ(said_of_tensor("[2, 1], \"file\": \"none.npy\"}"),
            ": " + folder.path("none.npy") + ": No such file or directory");
  folder.write("call.json", call_json(R"({"name": "gradY", "given": true, "tensor": )" + kOwnTensor +
                                      R"([2, 1], "file": "gradY.npy", "incomplete": "the disk is full"}})"));
  EXPECT_EQ(read_dump(folder.path()).at(0).skipped, "gradY: the saved data is incomplete: the disk is full");
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
  fs::copy(std::string(test_paths::msprobe_folder) + "/dump/step0/proc1", folder.path(),
           fs::copy_options::recursive);
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

}  // namespace
