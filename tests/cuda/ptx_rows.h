// Instructions of PTX with operands and their expected results, for the tests of the machine that runs
// them.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <sstream>
#include <string>
#include <vector>

#include "ptx_program.h"

namespace openaclnn::ptx {

inline constexpr uint64_t kLow = uint64_t{1}
                                 << 63;  // the least number of 64 bits, and the NaN of conversions to them
inline constexpr uint64_t kAll = ~uint64_t{0};
inline constexpr uint64_t kNaN = 0x7FFFFFFF;  // the NaN that instructions of f32 return
inline constexpr uint64_t kQuiet = 0x7FC00001, kSignalling = 0xFF800001;        // others
inline constexpr uint64_t kInfinity = 0x7F800000, kMinusInfinity = 0xFF800000;  // of f32
inline constexpr uint64_t kOfDouble = 0x7FF8000000000000;                       // a NaN

constexpr uint64_t f(float x) { return std::bit_cast<uint32_t>(x); }
constexpr uint64_t d(double x) { return std::bit_cast<uint64_t>(x); }
constexpr uint64_t minus(uint32_t x) { return 0 - x; }

// An instruction with a letter for the result's and each operand's type, as for assembly in C++: h, r and l
// have 16, 32 and 64 bits, f and d are numbers, p is a predicate, n a constant in the program.
struct Row {
  const char* instruction;
  const char* types;
  std::vector<uint64_t> operands;
  uint64_t result;
};

inline std::string type_of(char letter) {
  switch (letter) {
    case 'h': return "b16";
    case 'l': return "b64";
    case 'f': return "f32";
    case 'd': return "f64";
    default: return "b32";
  }
}

inline std::string program_of(const Row& row) {
  std::string body, list;
  for (size_t k = 0; k < row.operands.size(); ++k) {
    const char letter = row.types[2 + k];
    const std::string name = "%a" + std::to_string(k), place = "[%in+" + std::to_string(8 * k) + "];\n";
    if (letter == 'n') {
      list += ", " + std::to_string(row.operands[k]);
      continue;
    }
    list += ", " + name;
    const std::string type = type_of(letter), word = letter == 'p' ? "%w" + std::to_string(k) : name;
    body += ".reg ." + type + " " + word + ";\nld.global." + type + " " + word + ", " + place;
    if (letter == 'p') body += ".reg .pred " + name + ";\nsetp.ne.s32 " + name + ", " + word + ", 0;\n";
  }
  const bool is_predicate = row.types[0] == 'p';
  const std::string type = type_of(row.types[0]);
  body += (is_predicate ? ".reg .pred %q;\n" : "") + std::string(".reg .") + type + " %result;\n";
  body += std::string(row.instruction) + (is_predicate ? " %q" : " %result") + list + ";\n";
  if (is_predicate) body += "selp.b32 %result, 1, 0, %q;\n";
  return text_of_kernel("mov.u32 %r0, %tid.x;\nmul.wide.u32 %to, %r0, 8;\nadd.s64 %to, %to, %out;\n" + body +
                        "st.global." + type + " [%to], %result;\n");
}

// Runs in a full warp and in one of a single lane, whose other lanes compute nothing.
inline void expect_result(const Row& row) {
  std::vector<uint64_t> out(kLanes + 1);
  Setting setting;
  setting.block.x = kLanes + 1;
  setting.in = row.operands;
  run_text(program_of(row), out, setting);
  std::ostringstream text;
  text << row.instruction << std::hex;
  for (const uint64_t operand : row.operands) text << " 0x" << operand;
  text << " gives 0x" << out.front() << ", not 0x" << row.result;
  EXPECT_EQ(out, std::vector<uint64_t>(out.size(), row.result)) << text.str();
}

}  // namespace openaclnn::ptx
