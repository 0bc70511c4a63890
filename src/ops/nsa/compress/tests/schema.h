// NsaCompress as a schema: a valid call, the mistakes of its own rules, and the calls that phase 1 accepts.
#pragma once

#include <string>
#include <vector>

#include "ops/nsa/compress/verify/description.h"
#include "ops/nsa/tests/windows_refusal.h"
#include "support/phase1_mistakes.h"

namespace openaclnn_test {
namespace nsa_compress_schema {

enum Tensor { kInput, kWeight, kOutput };
enum Number { kBlockSize, kStride, kLengthType };

// The mistakes of the operator's own rules, for two sequences of 48 of 96 tokens, each with 2 windows of 32
// tokens at distance 16.
inline std::vector<Mistake> mistakes_up_to_shapes() {
  const std::string equal = "but input has dtype ACL_FLOAT16; they must be equal";
  const std::string weight_shape = "it must be [compressBlockSize, N of input] = ";
  const std::string heads = "dims 1 and 2, N and D, must be ";
  return {
      bad_dtype("input FLOAT16, BF16 or FLOAT", kInput, ACL_INT32,
                {"input has dtype ACL_INT32; it must be ACL_FLOAT16, ACL_BF16 or ACL_FLOAT"}),
      bad_dtype("weight, output = input", kWeight, ACL_BF16, {"weight has dtype ACL_BF16 " + equal}),
      bad_dtype("weight, output = input", kOutput, ACL_BF16, {"output has dtype ACL_BF16 " + equal}),
      bad_dims("ranks 3, 2, 3", kInput, {96, 32}, {"input has shape [96, 32]; its rank must be 3"}),
      bad_dims("ranks 3, 2, 3", kInput, {}, {"input has shape []; its rank must be 3"}),
      bad_dims("ranks 3, 2, 3", kWeight, {64}, {"weight has shape [64]; its rank must be 2"}),
      bad_dims("ranks 3, 2, 3", kWeight, {32, 2, 1}, {"weight has shape [32, 2, 1]; its rank must be 2"}),
      bad_dims("ranks 3, 2, 3", kOutput, {4, 32}, {"output has shape [4, 32]; its rank must be 3"}),
      bad_dims("N > 0", kInput, {96, 0, 16}, {"input has shape [96, 0, 16]", heads + "at least 1"}),
      bad_dims("D > 0", kInput, {96, 2, 0}, {"input has shape [96, 2, 0]", heads + "at least 1"}),
      bad_number(kShapeRule, "L >= 1", kBlockSize, 0, {"compressBlockSize is 0; it must be at least 1"}),
      bad_dims("weight = [L, N]", kWeight, {31, 2}, {"weight has shape [31, 2]", weight_shape + "[32, 2]"}),
      bad_dims("weight = [L, N]", kWeight, {32, 3}, {"weight has shape [32, 3]", weight_shape + "[32, 2]"}),
      bad_call(kShapeRule, "weight = [L, N]", {{Part::number, kBlockSize}, {Part::dims, kWeight}},
               [](CallArguments& a) { a.numbers[kBlockSize] = 16; },
               {"weight has shape [32, 2]", weight_shape + "[16, 2]"}),
      bad_dims("output dims 1, 2 = N, D", kOutput, {4, 3, 16},
               {"output has shape [4, 3, 16] but input has shape [96, 2, 16]", heads + "equal"}),
      bad_dims("output dims 1, 2 = N, D", kOutput, {4, 2, 17},
               {"output has shape [4, 2, 17] but input has shape [96, 2, 16]", heads + "equal"}),
  };
}

inline std::vector<Mistake> mistakes_of_attributes_and_lengths() {
  const std::string layout = "it must be NULL or \"TND\"";
  return {
      bad_number(kAttributeRule, "d >= 1", kStride, 0, {"compressStride is 0; it must be at least 1"}),
      bad_number(kAttributeRule, "actSeqLenType 0 or 1", kLengthType, 2,
                 {"actSeqLenType is 2; it must be 0", "or 1"}),
      bad_layout("layout NULL or exactly TND", "BSND", {"layoutOptional is \"BSND\"", layout}),
      bad_layout("layout NULL or exactly TND", "", {"layoutOptional is \"\"", layout}),
      bad_layout("layout NULL or exactly TND", "tnd", {"layoutOptional is \"tnd\"", layout}),
      bad_layout("layout NULL or exactly TND", "TND ", {"layoutOptional is \"TND \"", layout}),
      bad_array("an entry negative", {0, -1, 96}, {"actSeqLenOptional[1] = -1 is negative"}),
      bad_array("type 0 decreasing", {0, 48, 47, 96},
                {"actSeqLenOptional[2] = 47 is below actSeqLenOptional[1] = 48", "must not decrease"}),
      bad_array("total > T", {0, 48, 97},
                {"actSeqLenOptional[2] = 97 exceeds 96, the number of tokens of input"}),
      bad_array("J != output dim 0", {0, 31, 96},
                {"output has ", " windows in dim 0", "the sequences have 3 windows"}),
      bad_call(kArrayRule, "J != output dim 0", {{Part::dims, kOutput}},
               [](CallArguments& a) {
                 a.tensors[kOutput].dims = {5, 2, 16};
               },
               {"output has 5 windows in dim 0 but the sequences have "}),
  };
}

inline std::string refusal(const CallArguments& a) {
  const TensorArgument &input = a.tensors[kInput], &weight = a.tensors[kWeight], &output = a.tensors[kOutput];
  if (!has_dtype(input)) return says_dtype(input);
  for (const TensorArgument* tensor : {&weight, &output}) {
    if (tensor->dtype != input.dtype) return says_dtype(*tensor);
  }
  if (input.dims.size() != 3 || input.dims[1] < 1 || input.dims[2] < 1) return says_shape(input);
  if (a.numbers[kBlockSize] < 1) return "compressBlockSize is " + std::to_string(a.numbers[kBlockSize]) + ";";
  if (weight.dims != Shape{a.numbers[kBlockSize], input.dims[1]}) return says_shape(weight);
  if (output.dims.size() != 3 || output.dims[1] != input.dims[1] || output.dims[2] != input.dims[2])
    return says_shape(output);
  return windows_refusal(a,
                         {.tokens = input.dims[0],
                          .block_size = a.numbers[kBlockSize],
                          .stride = a.numbers[kStride],
                          .length_type = a.numbers[kLengthType],
                          .windows = output.dims[0]},
                         output.name);
}

inline Schema compress_test() {
  Schema test =
      schema_of(openaclnn_verify::nsa_compress_descriptions()[0],
                {.tensors = {{ACL_FLOAT16, {96, 2, 16}}, {ACL_FLOAT16, {32, 2}}, {ACL_FLOAT16, {4, 2, 16}}},
                 .array = IntArrayArgument{{48, 96}},
                 .layout = "TND",
                 .numbers = {32, 16, 0}});
  test.refusal = refusal;
  test.mistakes = mistakes_up_to_shapes();
  append(test.mistakes, mistakes_of_attributes_and_lengths());
  return test;
}

}  // namespace nsa_compress_schema

inline std::vector<Schema> nsa_compress_schemas() { return {nsa_compress_schema::compress_test()}; }
}  // namespace openaclnn_test
