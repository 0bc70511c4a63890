// Reads the limit files of both cgroup versions.
#include "cpu/machine_limits.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "cpu/control_groups.h"
#include "cpu/system_file.h"

namespace openaclnn::cpu {

namespace {

// Version 1 reports "no limit" as a number near 2^63. No machine has this much memory.
constexpr uint64_t kNoLimit = uint64_t{1} << 60;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Returns nullopt if the text is not a whole number in range: "max", -1, garbage.
std::optional<uint64_t> number(std::string_view text) {
  text = trimmed(text);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<uint64_t> number_in(const PathText& folder, std::string_view name) {
  SystemFile file({folder.view(), "/", name});
  const auto line = file.next_line();
  return line ? number(*line) : std::nullopt;
}

// Parses `MemTotal: 16384000 kB`.
std::optional<uint64_t> kibibytes(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) return std::nullopt;
  line.remove_prefix(key.size());
  if (line.ends_with(" kB")) line.remove_suffix(3);
  return number(line);
}

// The machine's memory without cgroups. Kernels before 3.14 do not report the available memory.
std::optional<MemoryInfo> memory_without_limits(std::string_view root) {
  std::optional<uint64_t> total, unused, available;
  SystemFile file({root, "/proc/meminfo"});
  while (const auto line = file.next_line()) {
    if (const auto found = kibibytes(*line, "MemTotal:")) total = found;
    if (const auto found = kibibytes(*line, "MemFree:")) unused = found;
    if (const auto found = kibibytes(*line, "MemAvailable:")) available = found;
    if (total && available) break;
  }
  if (!total || *total == 0 || *total >= kNoLimit >> 10) return std::nullopt;
  const uint64_t left = available.value_or(unused.value_or(0));
  return MemoryInfo{std::min(left, *total) << 10, *total << 10};
}

// Returns the memory that a group of `folder` uses, without inactive file pages, which the system can drop.
uint64_t used_by_group(const PathText& folder, GroupVersion version) {
  const bool v2 = version == GroupVersion::v2;
  const uint64_t used = number_in(folder, v2 ? "memory.current" : "memory.usage_in_bytes").value_or(0);
  // Version 1: the sum over all descendants, like the usage.
  const std::string_view key = v2 ? "inactive_file" : "total_inactive_file";
  SystemFile statistics({folder.view(), "/memory.stat"});
  while (const auto line = statistics.next_line()) {
    std::string_view rest = *line;
    if (take_until(rest, ' ') == key) return used - std::min(used, number(rest).value_or(0));
  }
  return used;
}

// Limits `memory` to what one group leaves. The process runs in the group, so a limit of 0 is ignored.
void apply_limit(std::optional<MemoryInfo>& memory, uint64_t limit, uint64_t used) {
  if (limit == 0 || limit >= kNoLimit) return;
  if (!memory) memory = MemoryInfo{limit, limit};
  memory->total_bytes = std::min<size_t>(memory->total_bytes, limit);
  memory->free_bytes = std::min<size_t>(memory->free_bytes, limit - std::min(limit, used));
}

// Returns the CPU limit of one group: `max 100000` or `150000 100000` in version 2, two files in version 1.
std::optional<double> quota_of(const PathText& folder, GroupVersion version) {
  std::optional<uint64_t> quota, period;
  if (version == GroupVersion::v2) {
    SystemFile file({folder.view(), "/cpu.max"});
    if (const auto line = file.next_line()) {
      std::string_view rest = *line;
      quota = number(take_until(rest, ' '));
      period = number(rest);
    }
  } else {
    quota = number_in(folder, "cpu.cfs_quota_us");
    period = number_in(folder, "cpu.cfs_period_us");
  }
  if (quota.value_or(0) == 0 || period.value_or(0) == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

}  // namespace

std::optional<MemoryInfo> machine_memory(std::string_view root) noexcept {
  std::optional<MemoryInfo> memory = memory_without_limits(root);
  const auto apply = [&](const PathText& folder, GroupVersion version) {
    const bool v2 = version == GroupVersion::v2;
    const auto limit = number_in(folder, v2 ? "memory.max" : "memory.limit_in_bytes");
    if (limit) apply_limit(memory, *limit, used_by_group(folder, version));
  };
  (void)visit_groups(root, "memory", std::ref(apply));  // a reference: std::function does not allocate for it
  return memory;
}

std::optional<double> cpu_quota(std::string_view root) noexcept {
  double least = std::numeric_limits<double>::infinity();
  const auto apply = [&](const PathText& folder, GroupVersion version) {
    if (const auto quota = quota_of(folder, version)) least = std::min(least, *quota);
  };
  const bool is_known = visit_groups(root, "cpu", std::ref(apply));
  if (!is_known && std::isinf(least)) return std::nullopt;
  return least;
}

int threads_within(std::optional<double> quota, int most) {
  // A fraction of a CPU counts as a thread. A thousandth is tolerated as a rounding error of the division.
  const double whole = std::ceil(quota.value_or(std::numeric_limits<double>::infinity()) - 0.001);
  return whole >= most ? most : std::max(static_cast<int>(whole), 1);
}

}  // namespace openaclnn::cpu
