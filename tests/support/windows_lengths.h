// What phase 1 says of sequence lengths and of windows, for the operators that compress tokens and take the same attributes. Their
// valid call has 96 tokens in windows of 32, 16 apart.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/expect.h"

namespace openaclnn_test {

// The lengths, and the number of windows that the tensor of windows says.
struct Lengths {
  bool is_given;
  int64_t type;
  std::vector<int64_t> entries;
  int64_t windows;
  std::string sentence = "";  // empty: accepted
};

struct WindowsCall {
  const Schema& test;
  const char* phase1;
  size_t compressed;  // the tensor of windows, and its name
  const char* compressed_name;
  enum Number { block_size, stride, length_type };

  std::string entry(size_t b) const { return test.valid.array->name + ("[" + std::to_string(b)) + "]"; }
};

inline void expect_lengths(const WindowsCall& call, const Lengths& lengths) {
  CallArguments arguments = call.test.valid;
  arguments.array->handle = lengths.is_given ? Handle::live : Handle::null;
  arguments.array->values = lengths.entries;
  arguments.numbers[WindowsCall::length_type] = lengths.type;
  arguments.tensors[call.compressed].dims[0] = lengths.windows;
  const Outcome outcome = call.test.run(arguments);
  const std::string entries = testing::PrintToString(lengths.entries);
  if (lengths.sentence.empty()) {
    EXPECT_EQ(outcome.phase1, 0) << outcome.error << " with " << entries;
  } else {
    EXPECT_TRUE(failed_in_phase1(outcome, call.phase1, kInvalid, {lengths.sentence})) << "V10: " << entries;
  }
}

inline void expect_every_way_to_give_lengths(const WindowsCall& call) {
  for (const Lengths& lengths :
       {Lengths{false, 0, {}, 5},  {false, 1, {}, 5},          {true, 0, {}, 5},
        {true, 1, {}, 5},          {false, 0, {}, 4},  // two batches of 48
        {true, 1, {}, 4},          {false, 1, {}, 3},  // three of 32
        {false, 0, {}, 0},                             // none of 24 or less has a window
        {true, 0, {96}, 5},        {true, 0, {0, 96}, 5},      {true, 0, {0, 0, 96, 96}, 5},
        {true, 1, {96}, 5},        {true, 1, {0, 96, 0}, 5},   {true, 0, {48, 96}, 4},
        {true, 0, {0, 48, 96}, 4}, {true, 1, {48, 48}, 4},     {true, 1, {64, 32}, 4},
        {true, 1, {31, 65}, 3},    {true, 0, {48, 95}, 3},  // tokens left over
        {true, 1, {48}, 2},        {true, 1, {31, 31, 31}, 0}, {true, 0, {0}, 0}}) {
    expect_lengths(call, lengths);
  }
}

inline void expect_first_fault_of_lengths(const WindowsCall& call) {
  constexpr int64_t kMost = INT64_MAX;
  const std::string first = call.entry(0), second = call.entry(1), third = call.entry(2);
  const std::string sum = " makes the sum of the sequence lengths exceed 96, the number of tokens of input";
  const std::string compressed = call.compressed_name, name = call.test.valid.array->name;
  for (const Lengths& lengths :
       {Lengths{true, 0, {-1}, 4, first + " = -1 is negative"},
        {true, 1, {48, -48}, 4, second + " = -48 is negative"},
        {true, 1, {48, INT64_MIN}, 4, second + " = -9223372036854775808 is negative"},
        // a negative entry is found before one that decreases, and that before the total
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
             " is NULL: one sequence of the 96 tokens has 5 windows of 32 tokens, 16 apart, and no number of "
             "equally long sequences (up to 1048576) has 2"},
        {true,
         1,
         {},
         6,
         compressed + " has 6 windows in dim 0 but " + name +
             " is empty: one sequence of the 96 tokens has 5"}}) {
    expect_lengths(call, lengths);
  }
}

// Windows 32 apart: three of 96 tokens fit one sequence and three. Strict mode wants the lengths then, but not where there is no
// window or one number of sequences only.
inline void expect_strict_refuses_ambiguous_batches(const WindowsCall& call) {
  Schema test = call.test;
  const WindowsCall strided = {test, call.phase1, call.compressed, call.compressed_name};
  const std::string name = test.valid.array->name, compressed = call.compressed_name;
  for (const Lengths& lengths : {Lengths{false, 0, {}, 4}, {false, 0, {}, 3}, {false, 0, {}, 0}})
    expect_lengths(call, lengths);
  test.valid.numbers[WindowsCall::stride] = 32;
  const std::string fits = " and " + compressed +
                           " has 3 windows in dim 0, which fit 1 as well as 3 equally long sequences; "
                           "OPENACLNN_CHECK=strict wants the lengths";
  for (const Lengths& lengths : {Lengths{false, 0, {}, 3, name + " is NULL" + fits},
                                 {true, 0, {}, 3, name + " is empty" + fits},
                                 {true, 0, {96}, 3},
                                 {true, 1, {32, 32, 32}, 3},
                                 {false, 0, {}, 0}}) {
    expect_lengths(strided, lengths);
  }
}

inline void expect_refused_windows(const WindowsCall& call) {
  const auto says = [](const char* name) {
    return [name](int64_t value) { return name + (" is " + std::to_string(value)) + ";"; };
  };
  expect_refused_numbers(call.test, WindowsCall::length_type,
                         {-1, 2, int64_t{1} << 32, (int64_t{1} << 32) + 1}, says("actSeqLenType"));
  for (const int64_t value : {int64_t{0}, int64_t{-1}, -(int64_t{1} << 32) + 16, INT64_MIN}) {
    for (const auto& [number, name] :
         {std::pair(WindowsCall::block_size, "compressBlockSize"), {WindowsCall::stride, "compressStride"}}) {
      CallArguments arguments = call.test.valid;
      arguments.numbers[number] = value;
      EXPECT_TRUE(failed_in_phase1(call.test.run(arguments), call.phase1, kInvalid, {says(name)(value)}));
    }
  }
}

}  // namespace openaclnn_test
