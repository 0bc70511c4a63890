// NsaCompressWithCache as a schema: a valid call with pages and one without, the mistakes of its own rules, and
// the calls that phase 1 accepts.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "ops/nsa/compress_with_cache/verify/description.h"
#include "support/phase1_mistakes.h"

namespace openaclnn_test {
namespace nsa_compress_with_cache_schema {

enum Tensor { kInput, kWeight, kSlots, kTable, kCache };
enum Number { kBlockSize, kStride, kLengthType, kPageTokens };

inline std::vector<Part> all_of_table() {
  return {{Part::handle, kTable}, {Part::dtype, kTable}, {Part::dims, kTable}, {Part::format, kTable}};
}
inline std::vector<Part> with(std::vector<Part> parts, const std::vector<Part>& more) {
  parts.insert(parts.end(), more.begin(), more.end());
  return parts;
}

// Mistakes of the dtypes, in the order of the signature.
inline std::vector<Mistake> dtype_mistakes(bool paged) {
  const std::string equal = "but input has dtype ACL_FLOAT16; they must be equal";
  std::vector<Mistake> list = {
      bad_dtype("input FLOAT16, BF16 or FLOAT", kInput, ACL_INT32,
                {"input has dtype ACL_INT32; it must be ACL_FLOAT16, ACL_BF16 or ACL_FLOAT"}),
      bad_dtype("weight = input", kWeight, ACL_BF16, {"weight has dtype ACL_BF16 " + equal}),
      bad_dtype("slotMapping INT32", kSlots, ACL_INT64,
                {"slotMapping has dtype ACL_INT64; it must be ACL_INT32"})};
  if (paged) {
    list.push_back(bad_dtype("blockTable INT32", kTable, ACL_INT64,
                             {"blockTableOptional has dtype ACL_INT64; it must be ACL_INT32"}));
  }
  list.push_back(
      bad_dtype("outputCache = input", kCache, ACL_BF16, {"outputCache has dtype ACL_BF16 " + equal}));
  return list;
}

// Mistakes of the shapes.
inline std::vector<Mistake> shape_mistakes(bool paged, const CallArguments& valid) {
  const auto dims_of_input = [paged](int64_t heads, int64_t columns) {
    return paged ? Shape{6, 64, heads, columns} : Shape{160, heads, columns};
  };
  const std::string with_pages =
      "its rank must be 4: [pages, tokens of a page, N, D] with blockTableOptional";
  const std::string without = "its rank must be 3: [T, N, D] without blockTableOptional";
  const std::string input = "input has shape " + list_text(dims_of_input(2, 16));
  const std::string at_least = "; its last dims, N and D, must be at least 1";
  const std::string last_dims = " but " + input + "; their last two dims, N and D, must be equal";
  const std::string weight_shape = "it must be [compressBlockSize, N of input] = ";
  std::vector<Mistake> list;
  if (paged) {
    list.push_back(
        bad_dims("paged: input rank 4", kInput, {384, 2, 16}, {"input has shape [384, 2, 16]", with_pages}));
    list.push_back(
        bad_call(kShapeRule, "not paged: input rank 3", with(all_of_table(), {{Part::dims, kInput}}),
                 [](CallArguments& a) { a.tensors[kTable].handle = Handle::null; }, {input, without}));
  } else {
    list.push_back(
        bad_dims("not paged: input rank 3", kInput, {160, 32}, {"input has shape [160, 32]", without}));
    list.push_back(bad_call(kShapeRule, "paged: input rank 4", with(all_of_table(), {{Part::dims, kInput}}),
                            [](CallArguments& a) { a.tensors[kTable].handle = Handle::live; },
                            {input, with_pages}));
  }
  const auto add = [&](const char* rule, size_t tensor, const Shape& dims, const std::string& says) {
    list.push_back(
        bad_dims(rule, tensor, dims, {valid.tensors[tensor].name + " has shape " + list_text(dims), says}));
  };
  add("weight rank 2", kWeight, {64}, "; its rank must be 2");
  add("slotMapping rank 1", kSlots, {2, 1}, "; its rank must be 1");
  if (paged) add("blockTable rank 2", kTable, {6}, "; its rank must be 2");
  add("outputCache rank 3", kCache, {30, 32}, "; its rank must be 3");
  add("N > 0", kInput, dims_of_input(0, 16), at_least);
  add("D > 0", kInput, dims_of_input(2, 0), at_least);
  list.push_back(
      bad_number(kShapeRule, "L >= 1", kBlockSize, 0, {"compressBlockSize is 0; it must be at least 1"}));
  add("weight = [L, N]", kWeight, {31, 2}, weight_shape + "[32, 2]");
  add("weight = [L, N]", kWeight, {32, 3}, weight_shape + "[32, 2]");
  list.push_back(bad_call(kShapeRule, "weight = [L, N]", {{Part::number, kBlockSize}, {Part::dims, kWeight}},
                          [](CallArguments& a) { a.numbers[kBlockSize] = 16; },
                          {"weight has shape [32, 2]", weight_shape + "[16, 2]"}));
  if (paged)
    add("blockTable dim 0 = B", kTable, {3, 3}, " but slotMapping has shape [2]; dim 0 of both is B");
  add("outputCache dims 1, 2 = N, D", kCache, {30, 3, 16}, last_dims);
  add("outputCache dims 1, 2 = N, D", kCache, {30, 2, 17}, last_dims);
  return list;
}

// Mistakes of the attributes.
inline std::vector<Mistake> attribute_mistakes(bool paged) {
  const std::string layouts = "it must be NULL, \"TND\", \"BSH\", \"SBH\", \"BSND\" or \"BNSD\"";
  std::vector<Mistake> list = {
      bad_number(kAttributeRule, "d >= 1", kStride, 0, {"compressStride is 0; it must be at least 1"}),
      bad_number(kAttributeRule, "actSeqLenType 1", kLengthType, 0, {"actSeqLenType is 0; it must be 1"}),
      bad_number(kAttributeRule, "actSeqLenType 1", kLengthType, 2, {"actSeqLenType is 2; it must be 1"}),
      bad_layout("a known layout", "", {"layoutOptional is \"\"", layouts}),
      bad_layout("a known layout", "tnd", {"layoutOptional is \"tnd\"", layouts}),
      bad_layout("a known layout", "TND ", {"layoutOptional is \"TND \"", layouts})};
  if (paged) {
    for (const int64_t tokens : {0, -64, 63, 65}) {
      list.push_back(
          bad_number(kAttributeRule, "pageBlockSize = input dim 1", kPageTokens, tokens,
                     {"pageBlockSize is " + std::to_string(tokens) + " but input has 64 tokens in a page"}));
    }
    list.push_back(bad_call(kAttributeRule, "pageBlockSize >= 1",
                            {{Part::number, kPageTokens}, {Part::dims, kInput}, {Part::dims, kCache}},
                            [](CallArguments& a) {
                              a.tensors[kInput].dims = {6, 0, 2, 16};
                              a.numbers[kPageTokens] = 0;
                            },
                            {"pageBlockSize is 0 but input has 0 tokens in a page", "at least 1"}));
  }
  return list;
}

// Mistakes of the lengths, for two sequences of up to 192 tokens in pages, or of 160 together.
inline std::vector<Mistake> length_mistakes(bool paged) {
  std::vector<Mistake> list = {
      bad_array("B lengths", {48}, {"actSeqLenOptional has 1 entries but slotMapping has 2"}),
      bad_array("B lengths", {48, 48, 48}, {"actSeqLenOptional has 3 entries but slotMapping has 2"}),
      bad_call(kArrayRule, "B lengths", {{Part::array, 0}, {Part::array_handle, 0}},
               [](CallArguments& a) { a.array->handle = Handle::null; },
               {"actSeqLenOptional is NULL but slotMapping has 2"}),
      bad_array("an entry negative", {48, -1}, {"actSeqLenOptional[1] = -1 is negative"}),
      bad_array("an entry negative", {INT64_MAX, INT64_MIN},
                {"actSeqLenOptional[1] = -9223372036854775808 is"})};
  if (paged) {
    list.push_back(bad_array("a length of more than P pages", {192, 193},
                             {"actSeqLenOptional[1] = 193 exceeds 192, the tokens of the 3 pages"}));
    list.push_back(bad_array("a length of more than P pages", {INT64_MAX, 1},
                             {"actSeqLenOptional[0] = 9223372036854775807 exceeds 192"}));
    return list;
  }
  const std::string sum = " makes the sum of the sequence lengths exceed 160, the number of tokens of input";
  list.push_back(bad_array("total > T", {80, 81}, {"actSeqLenOptional[1] = 81" + sum}));
  list.push_back(
      bad_array("total > T", {INT64_MAX, INT64_MAX}, {"actSeqLenOptional[0] = 9223372036854775807" + sum}));
  return list;
}

// Mistakes of the lengths.
inline std::string lengths_refusal(const CallArguments& a, bool paged) {
  const std::string name = a.array->name;
  const std::vector<int64_t> lengths =
      a.array->handle == Handle::null ? std::vector<int64_t>() : a.array->values;
  if (static_cast<int64_t>(lengths.size()) != a.tensors[kSlots].dims[0]) return name;
  if (std::ranges::any_of(lengths, [](int64_t length) { return length < 0; })) return name + "[";
  Wide total = 0;
  for (const int64_t length : lengths) {
    const Wide room = paged ? Wide{a.tensors[kTable].dims[1]} * a.numbers[kPageTokens]
                            : Wide{a.tensors[kInput].dims[0]} - total;
    if (length > room) return name + "[";
    total += length;
  }
  return "";
}

inline std::string refusal(const CallArguments& a) {
  const std::vector<TensorArgument>& t = a.tensors;
  const bool paged = t[kTable].handle != Handle::null;
  if (!has_dtype(t[kInput])) return says_dtype(t[kInput]);
  if (t[kWeight].dtype != t[kInput].dtype) return says_dtype(t[kWeight]);
  if (t[kSlots].dtype != ACL_INT32) return says_dtype(t[kSlots]);
  if (paged && t[kTable].dtype != ACL_INT32) return says_dtype(t[kTable]);
  if (t[kCache].dtype != t[kInput].dtype) return says_dtype(t[kCache]);
  const Shape& input = t[kInput].dims;
  if (input.size() != (paged ? 4 : 3)) return says_shape(t[kInput]);
  const Shape heads(input.end() - 2, input.end());
  if (heads[0] < 1 || heads[1] < 1) return says_shape(t[kInput]);
  if (a.numbers[kBlockSize] < 1) return "compressBlockSize is " + std::to_string(a.numbers[kBlockSize]) + ";";
  if (t[kWeight].dims != Shape{a.numbers[kBlockSize], heads[0]}) return says_shape(t[kWeight]);
  if (t[kSlots].dims.size() != 1) return says_shape(t[kSlots]);
  if (paged && (t[kTable].dims.size() != 2 || t[kTable].dims[0] != t[kSlots].dims[0]))
    return says_shape(t[kTable]);
  if (t[kCache].dims.size() != 3 || !std::equal(heads.begin(), heads.end(), t[kCache].dims.begin() + 1))
    return says_shape(t[kCache]);
  if (a.numbers[kStride] < 1) return "compressStride is " + std::to_string(a.numbers[kStride]) + ";";
  if (a.numbers[kLengthType] != 1) return "actSeqLenType is " + std::to_string(a.numbers[kLengthType]) + ";";
  const char* const layouts[] = {"TND", "BSH", "SBH", "BSND", "BNSD"};
  if (a.layout && std::ranges::find(layouts, std::string(a.layout->c_str())) == std::end(layouts))
    return "layoutOptional is \"";
  if (paged && (a.numbers[kPageTokens] < 1 || a.numbers[kPageTokens] != input[1]))
    return "pageBlockSize is " + std::to_string(a.numbers[kPageTokens]) + " ";
  return lengths_refusal(a, paged);
}

// Two sequences, of which the first has completed a block of 32 tokens; with pages of 64 tokens, 3 for each.
inline Schema cache_test(bool paged) {
  Schema test = schema_of(openaclnn_verify::nsa_compress_with_cache_descriptions()[0],
                          {.tensors = {{ACL_FLOAT16, paged ? Shape{6, 64, 2, 16} : Shape{160, 2, 16}},
                                       {ACL_FLOAT16, {32, 2}},
                                       {ACL_INT32, {2}},
                                       {ACL_INT32, {2, 3}, paged ? Handle::live : Handle::null},
                                       {ACL_FLOAT16, {30, 2, 16}}},
                           .array = IntArrayArgument{{48, 100}},
                           .layout = "TND",
                           .numbers = {32, 16, 1, paged ? 64 : 0}});
  test.refusal = refusal;
  test.mistakes = dtype_mistakes(paged);
  append(test.mistakes, shape_mistakes(paged, test.valid));
  append(test.mistakes, attribute_mistakes(paged));
  append(test.mistakes, length_mistakes(paged));
  return test;
}

}  // namespace nsa_compress_with_cache_schema

inline std::vector<Schema> nsa_compress_with_cache_schemas() {
  using nsa_compress_with_cache_schema::cache_test;
  return {cache_test(true), cache_test(false)};
}

}  // namespace openaclnn_test
