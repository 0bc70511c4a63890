// The command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace train {

struct Options {
  std::string text;
  std::string out = "demo-out";
  std::string dtype = "f32";
  std::string device = "auto";
  int64_t steps = 7'400;
  int64_t batch = 256;
  int64_t check_every = 100;
  int64_t seed = 1;
  bool quiet = false;
};

// Returns nothing if --help was requested and printed. Throws InputError for unknown options and
// invalid values.
std::optional<Options> parse_options(int argc, char** argv);

}  // namespace train
