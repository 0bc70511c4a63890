// Random numbers that are the same on every platform and standard library: std::mt19937_64 is fixed
// by the C++ standard, its distributions are not, so the few needed ones are written here.
#pragma once

#include <cstdint>
#include <random>

namespace train {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  // Uniform in [0, 1).
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  // Uniform in [0, bound); the rounding of 2^64 / bound favours no value by more than 2^-32 for the
  // bounds used here.
  uint64_t below(uint64_t bound) { return engine_() % bound; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace train
