// Tests each size, count and index parameter of each exported function at the borders of 31, 32, 63 and 64
// bits.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "runtime/size_doors.h"
#include "support/paths.h"

namespace {

using namespace runtime_test;

TEST_F(SizeDoorsTest, EveryValueHasItsCodeAndSentence) {
  uint64_t tried = 0, findings = 0;
  for (const SizeDoor& door : doors) {
    for (const uint64_t value : kDoorValues) {
      SCOPED_TRACE(door.function + ", " + door.parameter + " " + std::to_string(value) + ", " + door.variant);
      (void)aclGetRecentErrMsg();
      const Passage passage = door.call(value);
      (void)aclGetRecentErrMsg();
      ++tried;
      const bool is_right = std::ranges::find(passage.accepted, passage.code) != passage.accepted.end();
      findings += !is_right;
      EXPECT_TRUE(is_right) << "code " << passage.code << ", expected " << passage.accepted.front();
    }
  }
  // Rejected calls did not change the device and the stream.
  expect(0, counter_.add(stream));
  expect(0, aclrtSynchronizeDevice());
  EXPECT_EQ(counter_.value(), 1.0f);
  std::printf("figure doors %zu\nfigure passages %llu\nfigure findings %llu\n", doors.size(),
              static_cast<unsigned long long>(tried), static_cast<unsigned long long>(findings));
}

// The text between the parentheses of every function of the public headers.
std::map<std::string, std::string> prototypes() {
  // A declaration starts with a mark and ends at the semicolon.
  const std::regex declaration(R"((?:ACL_FUNC_VISIBILITY|ACLNN_API)\s[^;(]*\b(\w+)\(([^;]*)\);)");
  std::map<std::string, std::string> all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test_paths::headers)) {
    if (entry.path().extension() != ".h") continue;
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    for (std::sregex_iterator at(text.begin(), text.end(), declaration), end; at != end; ++at)
      all[(*at)[1].str()] = (*at)[2].str();
  }
  return all;
}

// A new function that takes a size by value has no test until it has a door.
TEST_F(SizeDoorsTest, EveryExportedFunctionHasItsDoors) {
  std::set<std::string> there, wanted;
  for (const SizeDoor& door : doors) there.insert(door.function + ", " + door.parameter);
  const std::map<std::string, std::string> functions = prototypes();
  const std::set<std::string> not_in_headers = {"InitHugeMemThreadLocal", "UnInitHugeMemThreadLocal",
                                                "ReleaseHugeMem"};
  const std::regex size(R"(\b(size_t|uint64_t|int64_t)\s+(\w+))");
  std::ifstream symbols(test_paths::exported_symbols);
  ASSERT_TRUE(symbols);
  for (std::string symbol; std::getline(symbols, symbol);) {
    const auto found = functions.find(symbol);
    EXPECT_EQ(found == functions.end(), not_in_headers.contains(symbol)) << symbol << " has no prototype";
    if (found == functions.end()) continue;
    const std::string& parameters = found->second;
    for (std::sregex_iterator at(parameters.begin(), parameters.end(), size), end; at != end; ++at)
      wanted.insert(symbol + ", " + (*at)[2].str());
  }
  EXPECT_GE(wanted.size(), 60u);
  for (const std::string& parameter : wanted)
    EXPECT_TRUE(there.contains(parameter)) << parameter << " has no door in size_doors.cc";
}

}  // namespace
