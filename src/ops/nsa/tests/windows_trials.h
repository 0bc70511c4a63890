// Phase 1's results for windows and sequence lengths, for operators that compress tokens and have the same
// attributes. Their valid call has two sequences of 48 tokens, 2 heads of 16 columns, and windows of 32
// tokens at distance 16.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/phase1_refusals.h"

namespace openaclnn_test {

// An operator of the family, and the shapes of its tensors.
struct WindowsForm {
  Schema schema;
  size_t compressed;            // [windows, heads, columns]
  std::vector<size_t> tokens;   // [tokens, heads, columns]
  std::vector<size_t> weights;  // [block size, heads]
  const char* layout_name;
  int least_pairs;
  enum Number { block_size, stride, length_type };

  std::string array() const { return schema.valid.array->name; }
  std::string compressed_name() const { return schema.valid.tensors[compressed].name; }
};

struct WindowsSizes {
  std::vector<int64_t> numbers;
  int64_t tokens, heads, columns, windows;
  std::vector<int64_t> lengths;
};
inline std::function<void(CallArguments&)> with_sizes(const WindowsForm& form, WindowsSizes sizes) {
  return [=, compressed = form.compressed, tokens = form.tokens, weights = form.weights](CallArguments& a) {
    a.numbers = sizes.numbers;
    a.array->values = sizes.lengths;
    a.tensors[compressed].dims = {sizes.windows, sizes.heads, sizes.columns};
    for (const size_t k : tokens) a.tensors[k].dims = {sizes.tokens, sizes.heads, sizes.columns};
    for (const size_t k : weights) a.tensors[k].dims = {sizes.numbers[WindowsForm::block_size], sizes.heads};
  };
}

// The lengths, the number of windows in the tensor of windows, and the distance of windows.
struct Lengths {
  bool is_given;
  int64_t type;
  std::vector<int64_t> entries;
  int64_t windows;
  std::string sentence = "";  // empty: accepted
  int64_t stride = 16;
};

inline std::vector<Trial> length_trials(const WindowsForm& form, const std::vector<Lengths>& all) {
  std::vector<Trial> trials;
  for (const Lengths& lengths : all) {
    const auto change = [lengths, compressed = form.compressed](CallArguments& a) {
      a.array->handle = lengths.is_given ? Handle::live : Handle::null;
      a.array->values = lengths.entries;
      a.numbers[WindowsForm::length_type] = lengths.type;
      a.numbers[WindowsForm::stride] = lengths.stride;
      a.tensors[compressed].dims[0] = lengths.windows;
    };
    const std::string what = "lengths " + list_text(lengths.entries);
    trials.push_back(lengths.sentence.empty() ? accepts(what, change)
                                              : refuses(what, change, {lengths.sentence}));
  }
  return trials;
}

inline std::vector<Trial> accepted_lengths(const WindowsForm& form) {
  return length_trials(form,
                       {{false, 0, {}, 5},         {false, 1, {}, 5},          {true, 0, {}, 5},
                        {true, 1, {}, 5},          {false, 0, {}, 4},  // two batches of 48
                        {true, 1, {}, 4},          {false, 1, {}, 3},  // three of 32
                        {false, 0, {}, 0},                             // none of 24 or less has a window
                        {true, 0, {96}, 5},        {true, 0, {0, 96}, 5},      {true, 0, {0, 0, 96, 96}, 5},
                        {true, 1, {96}, 5},        {true, 1, {0, 96, 0}, 5},   {true, 0, {48, 96}, 4},
                        {true, 0, {0, 48, 96}, 4}, {true, 1, {48, 48}, 4},     {true, 1, {64, 32}, 4},
                        {true, 1, {31, 65}, 3},    {true, 0, {48, 95}, 3},  // tokens left over
                        {true, 1, {48}, 2},        {true, 1, {31, 31, 31}, 0}, {true, 0, {0}, 0}});
}

inline std::vector<Trial> refused_lengths(const WindowsForm& form) {
  constexpr int64_t kMost = INT64_MAX;
  const std::string name = form.array(), compressed = form.compressed_name();
  const std::string first = name + "[0]", second = name + "[1]", third = name + "[2]";
  const std::string sum = " makes the sum of the sequence lengths exceed 96, the number of tokens of input";
  return length_trials(
      form, {{true, 0, {-1}, 4, first + " = -1 is negative"},
             {true, 1, {48, -48}, 4, second + " = -48 is negative"},
             {true, 1, {48, INT64_MIN}, 4, second + " = -9223372036854775808 is negative"},
             // a negative entry takes precedence over a decreasing one, and that over the total
             {true, 0, {200, 5, -3}, 4, third + " = -3 is negative"},
             {true, 0, {200, 5, 3}, 4, second + " = 5 is below " + first + " = 200"},
             {true, 0, {48, kMost}, 4, second + " = 9223372036854775807 exceeds 96"},
             {true, 1, {48, 49}, 4, second + " = 49" + sum},
             {true, 1, {97}, 4, first + " = 97" + sum},
             {true, 1, {48, kMost, kMost}, 4, second + " = 9223372036854775807" + sum},
             {true, 1, {48, 48}, 5, compressed + " has 5 windows in dim 0"},
             {true, 1, {48, 48}, 0, compressed + " has 0 windows in dim 0"},
             {false,
              0,
              {},
              2,
              compressed + " has 2 windows in dim 0 but " + name +
                  " is NULL: one sequence of the 96 tokens has 5 windows of 32 tokens, 16 apart, and no "
                  "number of equally long sequences (up to 1048576) has 2"},
             {true,
              1,
              {},
              6,
              compressed + " has 6 windows in dim 0 but " + name +
                  " is empty: one sequence of the 96 tokens has 5"}});
}

// Block sizes and strides below 1, and all types of lengths except the listed ones.
inline std::vector<Trial> wrong_windows(const Schema& schema, std::vector<int64_t> length_types) {
  std::vector<Trial> trials = wrong_numbers(schema, WindowsForm::length_type, std::move(length_types));
  for (const size_t number : {WindowsForm::block_size, WindowsForm::stride}) {
    for (const int64_t value : {int64_t{0}, int64_t{-1}, -(int64_t{1} << 32) + 16, INT64_MIN}) {
      const std::string says = schema.number_names[number] + " is " + std::to_string(value);
      trials.push_back(refuses(says, [=](CallArguments& a) { a.numbers[number] = value; }, {says + ";"}));
    }
  }
  return trials;
}

// The results of an operator of the family in every mode but strict. The layout may be NULL.
inline std::vector<Trial> windows_trials(const WindowsForm& form) {
  std::vector<Trial> trials = wrong_windows(form.schema, {-1, 2, int64_t{1} << 32, (int64_t{1} << 32) + 1});
  append(trials, accepted_lengths(form));
  append(trials, refused_lengths(form));
  append(trials, wrong_layouts(form.layout_name));
  trials.push_back(accepts("layout NULL", [](CallArguments& a) { a.layout.reset(); }));
  return trials;
}

// Strict mode requires the lengths if windows at distance 32 fit one sequence and three. It does not require
// them without windows, or if only one number of sequences fits. With lengths every token belongs to a
// sequence.
inline Refusals strict_windows(const WindowsForm& form) {
  const std::string name = form.array(), second = name + "[1]";
  const std::string fits = " and " + form.compressed_name() +
                           " has 3 windows in dim 0, which fit 1 as well as 3 equally long sequences; "
                           "OPENACLNN_CHECK=strict requires the lengths";
  Refusals strict = {
      .name = "Strict", .schema = form.schema, .least_pairs = form.least_pairs, .environment = kStrictCheck};
  // Reported before the number of windows, which would not fit either.
  strict.schema.mistakes.insert(
      strict.schema.mistakes.end() - 2,
      bad_array("strict: total != T", {48, 95},
                {second + " = 95 ends the last sequence at token 95 but input has 96 tokens",
                 "OPENACLNN_CHECK=strict"}));
  strict.trials =
      length_trials(form, {{false, 0, {}, 5},
                           {false, 0, {}, 4},
                           {false, 0, {}, 3},
                           {false, 0, {}, 0},
                           {true, 1, {}, 5},
                           {true, 1, {48, 47}, 3, second + " = 47 ends the last sequence at token 95"},
                           {true, 0, {0}, 0, name + "[0] = 0 ends the last sequence at token 0"},
                           {false, 0, {}, 3, name + " is NULL" + fits, 32},
                           {true, 0, {}, 3, name + " is empty" + fits, 32},
                           {true, 0, {96}, 3, "", 32},
                           {true, 1, {32, 32, 32}, 3, "", 32},
                           {false, 0, {}, 0, "", 32}});
  return strict;
}

// A limit of OPENACLNN_LIMITS=vendor, exceeded by otherwise consistent sizes. It cannot be combined with
// other sizes or lengths.
inline Mistake limit_of(const WindowsForm& form, const char* what, const WindowsSizes& sizes,
                        const std::string& sentence) {
  std::vector<Part> parts = {{Part::number, WindowsForm::block_size},
                             {Part::number, WindowsForm::stride},
                             {Part::number, WindowsForm::length_type},
                             {Part::array, 0}};
  for (size_t k = 0; k < form.schema.valid.tensors.size(); ++k) parts.push_back({Part::dims, k});
  return bad_call(kLimitRule, what, parts, with_sizes(form, sizes),
                  {sentence, "OPENACLNN_LIMITS=vendor accepts "});
}

// The limits that both operators have, in the order of the checks.
inline std::vector<Mistake> windows_limits(const WindowsForm& form) {
  std::vector<Part> dtypes;
  for (size_t k = 0; k < form.schema.valid.tensors.size(); ++k) dtypes.push_back({Part::dtype, k});
  const std::vector<int64_t> two = {48, 96};
  return {bad_call(kLimitRule, "FLOAT16, BF16 only", dtypes,
                   [](CallArguments& a) {
                     for (TensorArgument& t : a.tensors) t.dtype = ACL_FLOAT;
                   },
                   {"input has dtype ACL_FLOAT; OPENACLNN_LIMITS=vendor accepts ACL_FLOAT16 or ACL_BF16"}),
          limit_of(form, "L a multiple of 16", {{24, 16, 0}, 96, 2, 16, 4, two}, "compressBlockSize is 24"),
          limit_of(form, "d a multiple of 16", {{32, 12, 0}, 96, 2, 16, 4, two}, "compressStride is 12"),
          limit_of(form, "D a multiple of 16", {{32, 16, 0}, 96, 2, 24, 4, two}, "dim 2 of input is 24"),
          limit_of(form, "L >= d", {{32, 48, 0}, 96, 2, 16, 2, two},
                   "compressBlockSize is 32 and compressStride is 48"),
          limit_of(form, "actSeqLenType 0", {{32, 16, 1}, 96, 2, 16, 4, {48, 48}}, "actSeqLenType is 1"),
          limit_of(form, "no empty tensor", {{32, 16, 0}, 96, 2, 16, 0, {24, 48, 72, 96}},
                   form.compressed_name() + " has shape [0, 2, 16]")};
}

// All limits are exceeded at once, then respected one after the other: no window of 24 or 32 tokens fits into
// 16.
inline std::vector<Trial> limits_in_their_order(const WindowsForm& form) {
  const std::tuple<std::vector<int64_t>, int64_t, std::string> limits[] = {
      {{24, 40, 1}, 24, "compressBlockSize is 24"},
      {{32, 40, 1}, 24, "compressStride is 40"},
      {{32, 48, 1}, 24, "dim 2 of input is 24"},
      {{32, 48, 1}, 16, "compressBlockSize is 32 and compressStride is 48"},
      {{32, 32, 1}, 16, "actSeqLenType is 1"},
      {{32, 32, 0}, 16, form.compressed_name() + " has shape [0, 2, 16]"}};
  std::vector<Trial> trials;
  for (const auto& [numbers, columns, sentence] : limits)
    trials.push_back(
        refuses("limits in order", with_sizes(form, {numbers, 16, 2, columns, 0, {16}}), {sentence}));
  return trials;
}

}  // namespace openaclnn_test
