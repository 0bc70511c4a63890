// The command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace train {

struct Options {
  std::string text;
  std::string out = "demo-out";
  int64_t steps = 2500;
  int64_t batch = 512;
  int64_t check_every = 50;
  uint64_t seed = 1;
  bool quiet = false;
};

// Nothing when --help was asked for and printed. Throws InputError for anything it does not understand.
std::optional<Options> parse_options(int argc, char** argv);

}  // namespace train
