// Reads the environment once; everything unknown gives one message and the default.
#include "base/env.h"

#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/first_use.h"
#include "base/text.h"

namespace openaclnn {

namespace {

template <class T>
struct Choice {
  std::string_view word;
  T value;
};

void write_line(const std::string& message) { std::fprintf(stderr, "openaclnn: %s\n", message.c_str()); }

// What was read, and the sentences about what was not understood.
struct Reading {
  Environment env;
  std::vector<std::string> complaints;
};

template <class T>
void read_choice(Reading& reading, const char* name, std::span<const Choice<T>> choices, T& out) {
  const char* value = secure_getenv(name);
  if (value == nullptr || *value == '\0') return;
  std::string accepted;
  for (const Choice<T>& choice : choices) {
    if (choice.word == value) {
      out = choice.value;
      return;
    }
    accepted += (accepted.empty() ? "" : "|") + std::string(choice.word);
  }
  reading.complaints.push_back(
      text(name, " is '", value, "'; accepted: ", accepted, "; the default is used"));
}

void read_integer(Reading& reading, const char* name, int lowest, int highest, int& out) {
  const char* value = secure_getenv(name);
  if (value == nullptr || *value == '\0') return;
  int number = 0;
  const char* const end = value + std::strlen(value);
  const auto [parsed_to, error] = std::from_chars(value, end, number);
  if (error == std::errc() && parsed_to == end && number >= lowest && number <= highest) {
    out = number;
  } else {
    reading.complaints.push_back(
        text(name, " is '", value, "'; accepted: ", lowest, " to ", highest, "; the default is used"));
  }
}

void read_text(const char* name, std::string& out) {
  const char* value = secure_getenv(name);
  if (value != nullptr && *value != '\0') out = value;
}

std::unique_ptr<const Reading> read_environment() {
  auto reading = std::make_unique<Reading>();
  Environment& env = reading->env;
  static constexpr Choice<DeviceChoice> kDevices[] = {
      {"auto", DeviceChoice::automatic}, {"cpu", DeviceChoice::cpu}, {"cuda", DeviceChoice::cuda}};
  static constexpr Choice<CheckMode> kChecks[] = {
      {"report", CheckMode::report}, {"silent", CheckMode::silent}, {"strict", CheckMode::strict}};
  static constexpr Choice<bool> kLimits[] = {{"none", false}, {"vendor", true}};
  static constexpr Choice<bool> kAllocators[] = {{"pool", false}, {"guard", true}};
  static constexpr Choice<bool> kSwitch[] = {{"0", false}, {"1", true}};
  static constexpr Choice<IsaCap> kIsas[] = {{"scalar", IsaCap::scalar},
                                             {"avx2", IsaCap::avx2},
                                             {"avx512", IsaCap::avx512},
                                             {"neon", IsaCap::neon},
                                             {"sve", IsaCap::sve}};
  static constexpr Choice<LogLevel> kLevels[] = {{"error", LogLevel::error},
                                                 {"warn", LogLevel::warn},
                                                 {"info", LogLevel::info},
                                                 {"debug", LogLevel::debug}};
  read_choice<DeviceChoice>(*reading, "OPENACLNN_DEVICE", kDevices, env.device);
  read_choice<CheckMode>(*reading, "OPENACLNN_CHECK", kChecks, env.check);
  read_choice<bool>(*reading, "OPENACLNN_ALLOCATOR", kAllocators, env.guard_allocator);
  read_choice<bool>(*reading, "OPENACLNN_LIMITS", kLimits, env.vendor_limits);
  read_choice<bool>(*reading, "OPENACLNN_BLOCKING", kSwitch, env.blocking);
  read_integer(*reading, "OPENACLNN_NUM_THREADS", 1, INT_MAX, env.num_threads);
  read_choice<IsaCap>(*reading, "OPENACLNN_ISA", kIsas, env.isa);
  read_integer(*reading, "OPENACLNN_CPU_DEVICES", 1, 64, env.cpu_devices);
  read_choice<LogLevel>(*reading, "OPENACLNN_LOG", kLevels, env.log);
  read_text("OPENACLNN_SOC_NAME", env.soc_name);
  read_text("OPENACLNN_CUDA_PLUGIN", env.cuda_plugin);
  return reading;
}

std::atomic<const Reading*> the_reading{};

}  // namespace

const Environment& environment() {
  if (const Reading* known = the_reading.load(std::memory_order_acquire)) return known->env;
  std::unique_ptr<const Reading> made = read_environment();
  if (is_first(the_reading, made.get())) {
    // Never destroyed: destructors of the caller's statics may still run operators at exit.
    for (const std::string& complaint : made.release()->complaints) write_line(complaint);
  }
  return the_reading.load(std::memory_order_acquire)->env;
}

void log_message(LogLevel level, const std::string& message) {
  if (level <= environment().log) write_line(message);
}

}  // namespace openaclnn
