// Reads /proc and /sys, and measures copy bandwidth.
#include "machine.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include "base/affinity.h"

namespace openaclnn_cli {

namespace {

// Returns the value of "key : value" in a file such as /proc/cpuinfo, or an empty string.
std::string value_in(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return {};
}

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

int64_t size_in(const std::string& text) {  // "32K", "8M"
  std::istringstream stream(text);
  int64_t number = 0;
  char unit = ' ';
  stream >> number >> unit;
  return unit == 'K' ? number << 10 : unit == 'M' ? number << 20 : number;
}

constexpr size_t kMostCopied = size_t{512} << 20;  // bytes read by up to 128 threads together

}  // namespace

std::string cpu_model() {
  for (const char* key : {"model name", "Model", "CPU part"}) {
    if (std::string found = value_in("/proc/cpuinfo", key); !found.empty()) return found;
  }
  return "unknown";
}

std::vector<Cache> caches() {
  std::vector<Cache> found;
  for (int index = 0; index < 8; ++index) {
    const std::filesystem::path folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}", index);
    const std::string type = first_line(folder / "type");
    if (type.empty() || type == "Instruction") continue;
    found.push_back({"L" + first_line(folder / "level") + (type == "Data" ? "d" : ""),
                     size_in(first_line(folder / "size"))});
  }
  return found;
}

double copy_bandwidth(int threads, double seconds) {
  // More threads than CPUs copy no faster. Up to 128 threads together read at most kMostCopied bytes. With more
  // threads, each still reads 4 MiB, more than its share of a cache, so the total grows by 4 MiB per thread.
  threads = std::clamp(threads, 1, std::max(openaclnn::affinity_cpus(), 1));
  const size_t bytes =
      std::clamp(kMostCopied / static_cast<size_t>(threads), size_t{4} << 20, size_t{64} << 20);
  std::atomic<int> ready{0}, wanted{threads};
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> copied{0};
  const auto copy = [&] {
    const std::unique_ptr<char[]> from(new (std::nothrow) char[bytes]), to(new (std::nothrow) char[bytes]);
    const size_t each = from != nullptr && to != nullptr ? bytes : 0;
    if (each > 0) std::memset(from.get(), 1, each);  // allocates the pages before the measurement
    if (each > 0) std::memset(to.get(), 2, each);
    ++ready;
    while (ready < wanted) std::this_thread::yield();
    while (!stop && each > 0) {
      std::memcpy(to.get(), from.get(), each);
      copied += each;
    }
  };
  std::vector<std::thread> team;
  try {
    for (int n = 0; n < threads; ++n) team.emplace_back(copy);
  } catch (const std::system_error&) {
    wanted = static_cast<int>(team.size());  // the system allows no more
  }
  while (ready < wanted) std::this_thread::yield();
  const auto start = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop = true;
  for (std::thread& thread : team) thread.join();
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
  return 2.0 * static_cast<double>(copied.load()) / passed.count();
}

bool has_nvidia_driver() { return std::filesystem::exists("/proc/driver/nvidia/version"); }

}  // namespace openaclnn_cli
