// Judges pairs of FLOAT arrays from standard input, for comparisons with other implementations of the rules. Each pair is the name of
// a rule, a dtype (0 FLOAT, 1 FLOAT16, 27 BF16), a count, the bits of the device in hexadecimal and the golden as hexadecimal doubles.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "judge/rules.h"
#include "verify/number.h"

int main() {
  std::string rule, word;
  int dtype = 0;
  size_t count = 0;
  while (std::cin >> rule >> dtype >> count) {
    const auto type = static_cast<aclDataType>(dtype);
    const auto size = static_cast<size_t>(openaclnn_verify::element_bytes(type));
    std::vector<std::byte> device(count * size);
    for (size_t i = 0; i < count; ++i) {
      std::cin >> word;
      const uint64_t bits = std::strtoull(word.c_str(), nullptr, 16);
      std::memcpy(&device[i * size], &bits, size);
    }
    std::vector<double> golden(count);
    for (double& value : golden) {
      std::cin >> word;
      value = std::strtod(word.c_str(), nullptr);
    }
    const openaclnn_verify::Shape dims = {static_cast<int64_t>(count)};
    const openaclnn_judge::Pair pair = {"out",
                                        openaclnn_verify::owned_array(type, dims, device),
                                        openaclnn_verify::array_of_doubles(dims, golden),
                                        {},
                                        {}};
    const openaclnn_judge::Rule* found = openaclnn_judge::find_rule(rule);
    if (found == nullptr) return 2;
    std::puts(openaclnn_judge::result_name(found->apply(pair, {}).result));
  }
}
