// Reports of a fuzz target about a broken promise: an error message, and an end for which the fuzzer keeps
// the input.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace openaclnn_test {

[[noreturn]] inline void found(const std::string& what) {
  std::fprintf(stderr, "FOUND: %s\n", what.c_str());
  std::abort();
}

inline void require(bool holds, const char* what) {
  if (!holds) [[unlikely]]
    found(what);
}

// OPENACLNN_CHECK, as the library reads it.
enum class FuzzMode { report, silent, strict };
inline FuzzMode fuzz_mode() {
  static const FuzzMode mode = [] {
    const char* text = std::getenv("OPENACLNN_CHECK");
    const std::string word = text != nullptr ? text : "";
    return word == "strict" ? FuzzMode::strict : word == "silent" ? FuzzMode::silent : FuzzMode::report;
  }();
  return mode;
}

}  // namespace openaclnn_test
