// Dumps of kernels: tensors of MindSpore's graph mode and of ATB, with and without attributes.
#include <gtest/gtest.h>

#include <filesystem>

#include "judge/dump.h"
#include "judge/dump_folder.h"

namespace {

namespace fs = std::filesystem;
using namespace openaclnn_judge;
using namespace openaclnn_test;

std::string raw(const Array& array) {
  return {reinterpret_cast<const char*>(array.data.get()), static_cast<size_t>(array.bytes())};
}
const Array kRows = floats({3, 1}, {1, 2, 3}), kGroups = longs({2}, {1, 3}), kSums = floats({2, 1}, {1, 5});

// Writes a call of GroupedBiasAddGrad, which has no attributes.
void write_bias(const ScratchFolder& folder, const std::string& call) {
  folder.write(call + ".input.0.DefaultFormat.float32.npy", npy_bytes(kRows));
  folder.write(call + ".input.1.DefaultFormat.int64.npy", npy_bytes(kGroups));
  folder.write(call + ".output.0.DefaultFormat.float32.npy", npy_bytes(kSums));
}

void write_compress(const ScratchFolder& folder, const std::string& call) {
  folder.write(call + ".input.0.ND.float32.npy", npy_bytes(kTokens));
  folder.write(call + ".input.1.ND.float32.npy", npy_bytes(kWeight));
  folder.write(call + ".output.0.ND.float32.npy", npy_bytes(kWindows));
}

TEST(KernelDumps, OfOperatorsWithoutAttributesAreRead) {
  const ScratchFolder folder;
  write_bias(folder, "step_0/GroupedBiasAddGrad.Default_op0.0.3.1700000000000000");
  folder.write("step_0/Mul.Default_op1.1.3.1700000000000001.input.0.ND.float32.npy", "x");
  const std::vector<DumpedCall> calls = read_dump(folder.path());
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].call.label, "step_0/GroupedBiasAddGrad.Default_op0.0.3.1700000000000000");
  expect_right(calls[0]);
}

TEST(KernelDumps, TakeAttributesFromAFile) {
  const ScratchFolder folder;
  const std::string call = "NsaCompress.Default_op0.0.3.17";
  write_compress(folder, call);
  EXPECT_EQ(read_dump(folder.path()).at(0).skipped,
            "the argument compressBlockSize was not saved; attributes.json can give it");
  const std::string values = R"({"compressBlockSize": 2, "compressStride": 1, "actSeqLenType": 0})";
  folder.write("attributes.json", R"({"NsaCompress": )" + values + "}");
  expect_right(read_dump(folder.path()).at(0));
  // Those of a call take precedence.
  folder.write("attributes.json", R"({"NsaCompress": {}, ")" + call + R"(": )" + values + "}");
  expect_right(read_dump(folder.path()).at(0));
  // Lengths of sequences may be a tensor.
  folder.write(call + ".input.2.ND.int64.npy", npy_bytes(longs({1}, {3})));
  const DumpedCall dumped = read_dump(folder.path()).at(0);
  expect_right(dumped);
  EXPECT_EQ(dumped.call.values.integers.at("actSeqLenOptional"), std::vector<int64_t>{3});
}

TEST(KernelDumps, OfBfloat16HaveAShapeFile) {
  const ScratchFolder folder;
  const std::string call = "GroupedBiasAddGrad.op.0.3.17", output = call + ".output.0.ND.bfloat16";
  write_bias(folder, call);
  fs::remove(folder.path(call + ".output.0.DefaultFormat.float32.npy"));
  fs::remove(folder.path(call + ".input.0.DefaultFormat.float32.npy"));
  folder.write(call + ".input.0.ND.bfloat16.npy", npy_bytes(kRows));  // converted to float32
  folder.write(output, std::string("\x80\x3F\xA0\x40", 4));           // 1 and 5
  EXPECT_EQ(read_dump(folder.path()).at(0).skipped,
            output + " lacks a shape; " + output +
                R"(.json can give it as {"dtype": "bfloat16", "shape": [2, 3]})");
  folder.write(output + ".json", R"({"dtype": "bfloat16", "shape": [2, 1]})");
  expect_right(read_dump(folder.path()).at(0));
  folder.write(output + ".json", R"({"dtype": "bfloat16", "shape": [3, 1]})");
  EXPECT_EQ(refusal(folder.path()), folder.path() + ": " + call + ": " + folder.path(output) +
                                        ": the shape file describes 6 bytes of elements, but the file has 4");
}

TEST(KernelDumps, OfAtbAreRead) {
  const ScratchFolder folder;
  const std::string at = "data/0_77/0/1_Layer/2_GroupedBiasAddGradOperation/";
  folder.write("data/0_77/0/1_Layer/before/intensor0.bin", "x");
  folder.write(at + "before/intensor0.bin", "format=2\ndtype=0\ndims=3,1\n$End=1\n" + raw(kRows));
  folder.write(at + "before/intensor1.bin", "format=2\ndtype=9\ndims=2\n$End=1\n" + raw(kGroups));
  folder.write(at + "after/outtensor0.bin", "format=2\ndtype=0\ndims=2,1\n$End=1\n" + raw(kSums));
  const std::vector<DumpedCall> calls = read_dump(folder.path());
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].call.label,
            "data/0_77/0/1_Layer/2_GroupedBiasAddGradOperation/2_GroupedBiasAddGradOperation");
  expect_right(calls[0]);
  folder.write(at + "after/outtensor0.bin", "format=2\ndtype=0\ndims=2,1\n$End=1\n" + raw(kSums).substr(1));
  EXPECT_TRUE(
      refusal(folder.path()).ends_with("the header describes 8 bytes of elements, but the file has 7"));
}

TEST(KernelDumps, InOtherFormatsAreSkippedOrRefused) {
  const std::string call = "GroupedBiasAddGrad.op.0.3.17";
  {
    const ScratchFolder folder;
    write_bias(folder, call);
    fs::rename(folder.path(call + ".input.0.DefaultFormat.float32.npy"),
               folder.path(call + ".input.0.FRACTAL_NZ.float32.npy"));
    EXPECT_EQ(read_dump(folder.path()).at(0).skipped,
              "input 0 has the format FRACTAL_NZ; only ND is supported");
  }
  const auto said = [&](const std::string& name, const std::string& bytes) {
    const ScratchFolder folder;
    write_bias(folder, call);
    folder.write(name, bytes);
    const std::string message = refusal(folder.path());
    EXPECT_TRUE(message.starts_with(folder.path())) << message;
    return message.substr(std::min(message.size(), folder.path().size()));
  };
  EXPECT_EQ(
      said("Add.Default_op3.7.3.1700000000000000", "x"),
      "/Add.Default_op3.7.3.1700000000000000: it has CANN's own format; convert it to .npy with msaccucmp");
  const std::string shortened(32, '7');
  EXPECT_EQ(said(shortened + ".npy", "x"),
            "/" + shortened + ".npy: its name was shortened; rename it as mapping.csv says");
  EXPECT_EQ(said(call + ".input.0.ND.float32.npy", npy_bytes(kRows)),
            "/" + call + ".input.0.ND.float32.npy: another file has the same tensor");
  EXPECT_EQ(said("attributes.json", "[1]"), "/attributes.json: it isn't an object");
  EXPECT_EQ(said("attributes.json", R"({"NsaCompress": 3})"),
            "/attributes.json: NsaCompress isn't an object");
  EXPECT_TRUE(said(call + ".input.1.DefaultFormat.int64.npy", npy_bytes(kRows))
                  .ends_with("the file has torch.float32 [3, 1], but the dump says torch.int64 [3, 1]"));
}

}  // namespace
