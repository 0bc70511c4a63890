// The dumps that the library writes for acl.json are read as the calls that ran.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "aclnn/aclnn_base.h"
#include "judge/dump.h"
#include "judge/report.h"
#include "judge/scratch_folder.h"
#include "judge/small_calls.h"

namespace {

using namespace openaclnn_judge;
using namespace openaclnn_test;

Call embedding_call() {
  Call call = call_of("aclnnEmbedding");
  add_input(call, "weight", array_of(ACL_BF16, {3, 2}, {1, 2, 3, 4, 5, 6}));
  add_input(call, "indices", array_of(ACL_INT32, {2, 2}, {2, 0, 0, 1}));
  return call;
}

Call embedding_grad_call() {
  Call call = call_of("aclnnEmbeddingDenseBackward");
  add_input(call, "grad", array_of(ACL_FLOAT16, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
  add_input(call, "indices", array_of(ACL_INT64, {4}, {2, 0, 0, 1}));
  call.values.integers["numWeights"] = {3};
  call.values.integers["paddingIdx"] = {1};
  call.values.integers["scaleGradByFreq"] = {1};
  return call;
}

Call compress_grad_call() {
  Call call = call_of("aclnnNsaCompressGrad");
  add_input(call, "outputGrad", array_of(ACL_FLOAT, {1, 1, 2}, {1, 2}));
  add_input(call, "input", array_of(ACL_FLOAT, {4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
  add_input(call, "weight", array_of(ACL_FLOAT, {3, 1}, {1, 10, 100}));
  call.values.integers["compressBlockSize"] = {3};
  call.values.integers["compressStride"] = {3};
  call.values.integers["actSeqLenOptionalOptional"] = {4};
  return call;
}

class LibraryDumps : public testing::Test {
 protected:
  LibraryDumps() {
    const std::string config = scratch.path("acl.json");
    scratch.write("acl.json", R"({"dump": {"dump_op_switch": "on", "dump_mode": "all", "dump_path": ")" +
                                  scratch.path("dump") + "\"}}");
    EXPECT_EQ(aclInit(config.c_str()), 0);
  }
  // Waits for the dumps, and reads them.
  std::vector<DumpedCall> read() {
    EXPECT_EQ(aclFinalize(), 0);
    return read_dump(scratch.path("dump"));
  }

  ScratchFolder scratch;
};

void expect_equal(const Tensors& read, const Tensors& ran) {
  for (const auto& [parameter, arrays] : ran) {
    SCOPED_TRACE(parameter);
    ASSERT_TRUE(read.contains(parameter));
    const std::vector<Array>& found = read.at(parameter);
    ASSERT_EQ(found.size(), arrays.size());
    for (size_t k = 0; k < arrays.size(); ++k) {
      EXPECT_EQ(found[k].dtype, arrays[k].dtype);
      ASSERT_EQ(found[k].dims, arrays[k].dims);
      EXPECT_EQ(
          std::memcmp(found[k].data.get(), arrays[k].data.get(), static_cast<size_t>(arrays[k].bytes())), 0);
    }
  }
  EXPECT_EQ(read.size(), ran.size());
}

TEST_F(LibraryDumps, AreTheCallsThatRan) {
  const std::vector<Call> calls = {bias_call(),         ema_call(),       list_call(),
                                   compress_call(),     embedding_call(), embedding_grad_call(),
                                   compress_grad_call()};
  std::vector<OurResults> ours;
  for (const Call& call : calls) ours.push_back(run_here(call));
  const std::vector<DumpedCall> dumped = read();
  ASSERT_EQ(dumped.size(), calls.size());
  for (size_t k = 0; k < calls.size(); ++k) {
    const DumpedCall& call = dumped[k];
    SCOPED_TRACE(call.call.label);
    ASSERT_EQ(call.skipped, "");
    EXPECT_EQ(call.call.description, calls[k].description);
    expect_equal(call.call.inputs, calls[k].inputs);
    expect_equal(call.call.results, ours[k].results);
    for (const auto& [name, integers] : calls[k].values.integers)
      EXPECT_EQ(call.call.values.integers.at(name), integers) << name;
    EXPECT_EQ(judge_call(call.call, {}).result(), Result::pass);
  }
}

TEST_F(LibraryDumps, OfGivenTensorsAreJudged) {
  const Call call = embedding_call();
  const Array& weight = call.inputs.at("weight")[0];
  const Array& indices = call.inputs.at("indices")[0];
  const Array out = array_of(ACL_BF16, {2, 2, 2}, {5, 6, 1, 2, 1, 2, 3, 5});  // the last element is wrong
  std::vector<aclTensor*> tensors;
  for (const Array* const array : {&weight, &indices, &out})
    tensors.push_back(aclCreateTensor(array->dims.data(), array->dims.size(), array->dtype, nullptr, 0,
                                      ACL_FORMAT_ND, array->dims.data(), array->dims.size(),
                                      const_cast<std::byte*>(array->data.get())));
  EXPECT_EQ(aclrtSetDevice(0), 0);
  EXPECT_EQ(aclDumpOpTensors("Embedding", "layer0/embed", tensors.data(), 2, 1, nullptr), 0);
  for (const aclTensor* tensor : tensors) EXPECT_EQ(aclDestroyTensor(tensor), 0);
  const std::vector<DumpedCall> dumped = read();
  ASSERT_EQ(dumped.size(), 1u);
  ASSERT_EQ(dumped[0].skipped, "");
  const CallReport report = judge_call(dumped[0].call, {});
  EXPECT_EQ(report.result(), Result::error);
  EXPECT_EQ(report.outputs.at(0).wrong, 1);
}

}  // namespace
