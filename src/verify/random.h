// Deterministic random data: the same numbers on every machine, using only integer arithmetic.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "verify/number.h"

namespace openaclnn_verify {

// SplitMix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t bits() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  // Returns a number from 0 to below, without a visible bias for the small limits of tests.
  int64_t below(int64_t limit) { return static_cast<int64_t>(bits() % static_cast<uint64_t>(limit)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool chance(int one_in) { return below(one_in) == 0; }

  double uniform(double low, double high) {
    return low + (high - low) * (static_cast<double>(bits() >> 11) * 0x1p-53);
  }

  // Returns a magnitude from 2^low to 2^high, with all powers of two equally likely.
  double magnitude(int low, int high) {
    const int exponent = static_cast<int>(between(low, high - 1));
    return scale(uniform(1, 2), exponent);
  }
  double signed_magnitude(int low, int high) {
    const double sign = (bits() >> 63) != 0 ? -1 : 1;
    return sign * magnitude(low, high);
  }

 private:
  uint64_t state_;
};

// FNV-1a: seeds from names, and hashes of results.
inline uint64_t hash_bytes(const void* bytes, size_t count, uint64_t hash = 0xCBF29CE484222325u) {
  for (size_t i = 0; i < count; ++i)
    hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001B3u;
  return hash;
}
inline uint64_t hash_text(std::string_view text) { return hash_bytes(text.data(), text.size()); }

// Returns the seed of the random tests: OPENACLNN_TEST_SEED, otherwise a fixed one. Tests print it with each
// failure.
inline uint64_t test_seed() {
  const char* text = std::getenv("OPENACLNN_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 0) : 20240607;
}
inline std::string seed_text() { return "repeat with OPENACLNN_TEST_SEED=" + std::to_string(test_seed()); }

}  // namespace openaclnn_verify
