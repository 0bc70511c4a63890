// Writes dumps for tests, in a folder that is deleted at the end, and checks what is read.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

// The dumps have calls of these operators: without one of them, the tests are left out.
#include "aclnnop/aclnn_apply_adam_w.h"
#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "aclnnop/aclnn_embedding.h"
#include "aclnnop/aclnn_embedding_dense_backward.h"
#include "aclnnop/aclnn_grouped_bias_add_grad.h"
#include "aclnnop/aclnn_nsa_compress.h"
#include "aclnnop/aclnn_nsa_compress_grad.h"
#include "aclnnop/aclnn_nsa_compress_with_cache.h"
#include "openaclnn/apply_fused_ema_adam_list.h"

#include "base/npy_header.h"
#include "files/dtype_names.h"
#include "files/errors.h"
#include "judge/dump.h"
#include "judge/scratch_folder.h"
#include "verify/array.h"

namespace openaclnn_test {

template <class T>
openaclnn_verify::Array array_of(aclDataType dtype, openaclnn_verify::Shape dims,
                                 const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return openaclnn_verify::owned_array(dtype, std::move(dims), std::move(bytes));
}
inline openaclnn_verify::Array floats(openaclnn_verify::Shape dims, const std::vector<float>& values) {
  return array_of(ACL_FLOAT, std::move(dims), values);
}
inline openaclnn_verify::Array longs(openaclnn_verify::Shape dims, const std::vector<int64_t>& values) {
  return array_of(ACL_INT64, std::move(dims), values);
}

inline std::string npy_bytes(const openaclnn_verify::Array& array) {
  return openaclnn::npy_header(array.dtype, array.dims) +
         std::string(reinterpret_cast<const char*>(array.data.get()), static_cast<size_t>(array.bytes()));
}

// A folder of msprobe with .npy tensors.
class MsprobeFolder {
 public:
  using Json = nlohmann::json;

  // Writes the file of a tensor and returns its entry.
  Json tensor(const std::string& name, const openaclnn_verify::Array& array) {
    folder.write("dump_tensor_data/" + name, npy_bytes(array));
    return {{"type", "torch.Tensor"},
            {"dtype", openaclnn_files::torch_name(array.dtype)},
            {"shape", array.dims},
            {"data_name", name}};
  }
  static Json number(const Json& value) { return {{"type", "a number"}, {"value", value}}; }

  void add_forward(const std::string& call, Json args, Json kwargs, Json output) {
    data[call + ".forward"] = {
        {"input_args", std::move(args)}, {"input_kwargs", std::move(kwargs)}, {"output", std::move(output)}};
  }
  void add_backward(const std::string& call, Json input, Json output) {
    data[call + ".backward"] = {{"input", std::move(input)}, {"output", std::move(output)}};
  }
  // Writes dump.json.
  void write(const std::string& task = "tensor") {
    folder.write("dump.json", Json{{"task", task}, {"level", "L1"}, {"data", data}}.dump());
  }
  const std::string& path() const { return folder.path(); }

  ScratchFolder folder;
  Json data = Json::object();
};

// Returns the error message, or an empty text if the folder is accepted.
inline std::string refusal(const std::string& folder) {
  try {
    openaclnn_judge::read_dump(folder);
    return "";
  } catch (const openaclnn_files::BadInput& error) {
    return error.what();
  }
}

// The elements of an array.
inline std::vector<double> numbers(const openaclnn_verify::Array& array) {
  std::vector<double> all(static_cast<size_t>(array.numel()));
  array.widen(0, all);
  return all;
}

// Every result is within the bound of the golden.
inline void expect_right(const openaclnn_judge::DumpedCall& dumped) {
  SCOPED_TRACE(dumped.call.label);
  ASSERT_EQ(dumped.skipped, "");
  const openaclnn_verify::Golden golden = openaclnn_judge::golden_of(dumped.call, 1);
  ASSERT_FALSE(dumped.call.results.empty());
  for (const openaclnn_verify::GoldenOutput& output : golden.outputs) {
    const auto found = dumped.call.results.find(output.parameter);
    ASSERT_NE(found, dumped.call.results.end()) << output.parameter;
    const openaclnn_verify::Array& result = found->second.at(0);
    ASSERT_EQ(result.dims, output.dims) << output.parameter;
    ASSERT_EQ(result.dtype, output.dtype) << output.parameter;
    const std::vector<double> given = numbers(result);
    for (size_t k = 0; k < given.size(); ++k) EXPECT_NEAR(given[k], output.exact[k], 1e-6 + output.bound[k]);
  }
}

// Two windows of [1, 2, 3] with weights 1 and 10.
inline const openaclnn_verify::Array kTokens = floats({3, 1, 1}, {1, 2, 3}),
                                     kWeight = floats({2, 1}, {1, 10}),
                                     kWindows = floats({2, 1, 1}, {21, 32}),
                                     kGrad = floats({2, 1, 1}, {1, 2}),
                                     kTokensGrad = floats({3, 1, 1}, {1, 12, 20}),
                                     kWeightGrad = floats({2, 1}, {5, 8});

inline void add_compress(MsprobeFolder& dump, const std::string& call = "NPU.npu_nsa_compress.0") {
  dump.add_forward(call,
                   {dump.tensor(call + ".forward.input.0.npy", kTokens),
                    dump.tensor(call + ".forward.input.1.npy", kWeight), dump.number(2), dump.number(1)},
                   {{"actual_seq_len", {dump.number(3)}}},
                   {dump.tensor(call + ".forward.output.0.npy", kWindows)});
  dump.add_backward(call, {dump.tensor(call + ".backward.input.0.npy", kGrad)},
                    {dump.tensor(call + ".backward.output.0.npy", kTokensGrad),
                     dump.tensor(call + ".backward.output.1.npy", kWeightGrad)});
}

inline const std::string kOwnTensor =
    R"({"given": true, "live": true, "dtype": "ACL_FLOAT", "role": "input", "shape": )";

// A call.json of GroupedBiasAddGradV2 with some of its arguments.
inline std::string call_json(const std::string& arguments) {
  return R"({"format": 1, "operator": "x", "function": "aclnnGroupedBiasAddGradV2GetWorkspaceSize", )"
         R"("reason": "selected", "arguments": [)" +
         arguments + "]}";
}

}  // namespace openaclnn_test
