// NsaCompressGrad as a schema: a valid call, the mistakes of its own rules, and the calls that phase 1 accepts.
#pragma once

#include <string>
#include <vector>

#include "ops/nsa/compress_grad/verify/description.h"
#include "ops/nsa/tests/windows_refusal.h"
#include "support/phase1_mistakes.h"

namespace openaclnn_test {
namespace nsa_compress_grad_schema {

enum Tensor { kOutputGrad, kInput, kWeight, kInputGrad, kWeightGrad, kTensors };
enum Number { kBlockSize, kStride, kLengthType };

// The mistakes of the operator's own rules, for two sequences of 48 of 96 tokens, each with 2 windows of 32
// tokens at distance 16.
inline std::vector<Mistake> mistakes_up_to_shapes(const CallArguments& valid) {
  std::vector<Mistake> list;
  list.push_back(
      bad_dtype("outputGrad FLOAT16, BF16 or FLOAT", kOutputGrad, ACL_INT32,
                {"outputGrad has dtype ACL_INT32; it must be ACL_FLOAT16, ACL_BF16 or ACL_FLOAT"}));
  for (size_t k = kInput; k < kTensors; ++k) {
    list.push_back(
        bad_dtype("the others equal to it", k, ACL_BF16,
                  {valid.tensors[k].name + " has dtype ACL_BF16 but outputGrad has dtype ACL_FLOAT16",
                   "they must be equal"}));
  }
  const auto add = [&](const char* rule, Tensor k, Shape dims, const char* shape, const std::string& wanted) {
    list.push_back(
        bad_dims(rule, k, std::move(dims), {valid.tensors[k].name + " has shape " + shape, wanted}));
  };
  for (const Tensor k : {kOutputGrad, kInput, kWeight, kInputGrad, kWeightGrad}) {
    const bool is_weight = k == kWeight || k == kWeightGrad;
    const std::string rank = std::string("its rank must be ") + (is_weight ? "2" : "3");
    add("ranks 3, 3, 2, 3, 2", k, {64}, "[64]", rank);
    add("ranks 3, 3, 2, 3, 2", k, {4, 2, 4, 2}, "[4, 2, 4, 2]", rank);
  }
  const std::string weight_shape = "it must be [compressBlockSize, N of input] = ";
  const std::string heads = "but input has shape [96, 2, 16]; dims 1 and 2, N and D, must be equal";
  list.push_back(
      bad_number(kShapeRule, "L >= 1", kBlockSize, 0, {"compressBlockSize is 0; it must be at least 1"}));
  add("weight = [L, N]", kWeight, {31, 2}, "[31, 2]", weight_shape + "[32, 2]");
  add("weight = [L, N]", kWeight, {32, 3}, "[32, 3]", weight_shape + "[32, 2]");
  list.push_back(bad_call(kShapeRule, "weight = [L, N]", {{Part::number, kBlockSize}, {Part::dims, kWeight}},
                          [](CallArguments& a) { a.numbers[kBlockSize] = 16; },
                          {"weight has shape [32, 2]", weight_shape + "[16, 2]"}));
  add("inputGradOut = input", kInputGrad, {95, 2, 16}, "[95, 2, 16]", "but input has shape [96, 2, 16]");
  add("inputGradOut = input", kInputGrad, {96, 16, 2}, "[96, 16, 2]", "but input has shape [96, 2, 16]");
  add("weightGradOut = weight", kWeightGrad, {31, 2}, "[31, 2]", "but weight has shape [32, 2]");
  add("weightGradOut = weight", kWeightGrad, {32, 3}, "[32, 3]", "but weight has shape [32, 2]");
  add("outputGrad dims 1, 2 = N, D", kOutputGrad, {4, 3, 16}, "[4, 3, 16]", heads);
  add("outputGrad dims 1, 2 = N, D", kOutputGrad, {4, 2, 17}, "[4, 2, 17]", heads);
  return list;
}

inline std::vector<Mistake> mistakes_of_attributes_and_lengths() {
  const std::string layout = "it must be NULL or \"TND\"";
  const std::string array = "actSeqLenOptionalOptional";
  return {
      bad_number(kAttributeRule, "d >= 1", kStride, 0, {"compressStride is 0; it must be at least 1"}),
      bad_number(kAttributeRule, "actSeqLenType 0 or 1", kLengthType, 2,
                 {"actSeqLenType is 2; it must be 0", "or 1"}),
      bad_layout("layout NULL or exactly TND", "BSND", {"layoutOptionalOptional is \"BSND\"", layout}),
      bad_layout("layout NULL or exactly TND", "", {"layoutOptionalOptional is \"\"", layout}),
      bad_layout("layout NULL or exactly TND", "tnd", {"layoutOptionalOptional is \"tnd\"", layout}),
      bad_layout("layout NULL or exactly TND", "TND ", {"layoutOptionalOptional is \"TND \"", layout}),
      bad_array("an entry negative", {0, -1, 96}, {array + "[1] = -1 is negative"}),
      bad_array("type 0 decreasing", {0, 48, 47, 96}, {array + "[2] = 47 is below " + array + "[1] = 48"}),
      bad_array("total > T", {0, 48, 97}, {array + "[2] = 97 exceeds 96, the number of tokens of input"}),
      bad_array("J != outputGrad dim 0", {0, 31, 96},
                {"outputGrad has ", " windows in dim 0", "the sequences have 3 windows"}),
      bad_call(kArrayRule, "J != outputGrad dim 0", {{Part::dims, kOutputGrad}},
               [](CallArguments& a) {
                 a.tensors[kOutputGrad].dims = {5, 2, 16};
               },
               {"outputGrad has 5 windows in dim 0 but the sequences have "}),
  };
}

inline std::string refusal(const CallArguments& a) {
  const std::vector<TensorArgument>& t = a.tensors;
  if (!has_dtype(t[kOutputGrad])) return says_dtype(t[kOutputGrad]);
  for (size_t k = kInput; k < kTensors; ++k) {
    if (t[k].dtype != t[kOutputGrad].dtype) return says_dtype(t[k]);
  }
  for (size_t k = kOutputGrad; k < kTensors; ++k) {
    if (t[k].dims.size() != (k == kWeight || k == kWeightGrad ? 2 : 3)) return says_shape(t[k]);
  }
  if (a.numbers[kBlockSize] < 1) return "compressBlockSize is " + std::to_string(a.numbers[kBlockSize]) + ";";
  const Shape& input = t[kInput].dims;
  if (t[kWeight].dims != Shape{a.numbers[kBlockSize], input[1]}) return says_shape(t[kWeight]);
  if (t[kInputGrad].dims != input) return says_shape(t[kInputGrad]);
  if (t[kWeightGrad].dims != t[kWeight].dims) return says_shape(t[kWeightGrad]);
  const Shape& compressed = t[kOutputGrad].dims;
  if (compressed[1] != input[1] || compressed[2] != input[2]) return says_shape(t[kOutputGrad]);
  return windows_refusal(a,
                         {.tokens = input[0],
                          .block_size = a.numbers[kBlockSize],
                          .stride = a.numbers[kStride],
                          .length_type = a.numbers[kLengthType],
                          .windows = compressed[0]},
                         t[kOutputGrad].name);
}

inline Schema grad_test() {
  Schema test = schema_of(openaclnn_verify::nsa_compress_grad_descriptions()[0],
                          {.tensors = {{ACL_FLOAT16, {4, 2, 16}},
                                       {ACL_FLOAT16, {96, 2, 16}},
                                       {ACL_FLOAT16, {32, 2}},
                                       {ACL_FLOAT16, {96, 2, 16}},
                                       {ACL_FLOAT16, {32, 2}}},
                           .array = IntArrayArgument{{48, 96}},
                           .layout = "TND",
                           .numbers = {32, 16, 0}});
  test.refusal = refusal;
  test.mistakes = mistakes_up_to_shapes(test.valid);
  append(test.mistakes, mistakes_of_attributes_and_lengths());
  return test;
}

}  // namespace nsa_compress_grad_schema

inline std::vector<Schema> nsa_compress_grad_schemas() { return {nsa_compress_grad_schema::grad_test()}; }
}  // namespace openaclnn_test
