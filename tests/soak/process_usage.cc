// Reads /proc/self: the same files on every Linux.
#include "soak/process_usage.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace openaclnn_test {

namespace {

// The number after `key` in a file of lines "key: number …".
int64_t number_in(const char* file, const std::string& key) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(key)) return std::stoll(line.substr(key.size()));
  }
  std::fprintf(stderr, "%s has no line %s\n", file, key.c_str());
  std::exit(2);
}

int64_t entries(const char* folder) { return std::distance(std::filesystem::directory_iterator(folder), {}); }

}  // namespace

// smaps_rollup counts pages; the cheaper counters of statm lag behind by some pages for each thread.
ProcessUsage ProcessUsage::now() {
  return {number_in("/proc/self/smaps_rollup", "Rss:"), number_in("/proc/self/status", "Threads:"),
          entries("/proc/self/fd")};
}

ProcessUsage ProcessUsage::least(const ProcessUsage& other) const {
  return {std::min(rss_kib, other.rss_kib), std::min(threads, other.threads),
          std::min(descriptors, other.descriptors)};
}

}  // namespace openaclnn_test
