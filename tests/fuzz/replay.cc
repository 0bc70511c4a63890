// Runs a fuzz target on inputs without libFuzzer: the corpus as an ordinary test. A file *.txt has one
// input per line, in hexadecimal. Any other file is one input, such as a fuzzer keeps for a finding.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

int runs = 0;

void run(const std::vector<uint8_t>& bytes, const std::string& name) {
  // The running input is the last line before a crash.
  std::printf("%s\n", name.c_str());
  std::fflush(stdout);
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  ++runs;
}

std::vector<uint8_t> from_hex(const std::string& line) {
  std::vector<uint8_t> bytes;
  for (size_t k = 0; k + 1 < line.size(); k += 2)
    bytes.push_back(static_cast<uint8_t>(std::strtoul(line.substr(k, 2).c_str(), nullptr, 16)));
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  LLVMFuzzerInitialize(&argc, &argv);
  for (int k = 1; k < argc; ++k) {
    const std::string path = argv[k];
    std::ifstream file(path, std::ios::binary);
    if (!path.ends_with(".txt")) {
      run({std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()}, path);
      continue;
    }
    for (std::string line; std::getline(file, line);) run(from_hex(line), line);
  }
  std::printf("%d inputs\n", runs);
  return runs > 0 ? 0 : 1;
}
