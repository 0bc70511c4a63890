// Reads the environment once. Each unknown value is reported once and replaced by the default.
#include "base/env.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/current_folder.h"
#include "base/first_use.h"
#include "base/nearest.h"
#include "base/printable.h"
#include "base/standard_error.h"
#include "base/text.h"

namespace openaclnn {

namespace {

template <class T>
struct Choice {
  std::string_view word;
  T value;
};

void write_line(const std::string& message) {
  write_to_stderr(text("openaclnn: ", printable(message), "\n"));
}

// The parsed settings.
struct Reading {
  Environment env;
  std::vector<Setting> settings;
};

Setting& add_setting(Reading& reading, const char* name, std::string accepted) {
  const char* const value = secure_getenv(name);
  return reading.settings.emplace_back(
      Setting{name, std::move(accepted), value != nullptr ? value : "", {}, true});
}

template <class T>
void read_choice(Reading& reading, const char* name, std::span<const Choice<T>> choices, T& out) {
  std::string accepted;
  for (const Choice<T>& choice : choices)
    accepted += (accepted.empty() ? "" : "|") + std::string(choice.word);
  Setting& setting = add_setting(reading, name, std::move(accepted));
  setting.is_understood = setting.given.empty();
  for (const Choice<T>& choice : choices) {
    if (choice.word != setting.given) continue;
    out = choice.value;
    setting.is_understood = true;
  }
  for (const Choice<T>& choice : choices) {
    if (choice.value == out) setting.in_force = choice.word;
  }
}

// `unset` describes the default if it is not a number.
void read_integer(Reading& reading, const char* name, int lowest, int highest, int& out,
                  const char* unset = nullptr) {
  Setting& setting = add_setting(reading, name, text(lowest, " to ", highest));
  int number = 0;
  const char* const begin = setting.given.data();
  const char* const end = begin + setting.given.size();
  const auto [parsed_to, error] = std::from_chars(begin, end, number);
  const bool is_number = error == std::errc() && parsed_to == end && number >= lowest && number <= highest;
  if (is_number) out = number;
  setting.is_understood = is_number || setting.given.empty();
  setting.in_force = !is_number && unset != nullptr ? unset : std::to_string(out);
}

void read_text(Reading& reading, const char* name, const char* accepted, std::string& out) {
  Setting& setting = add_setting(reading, name, accepted);
  if (!setting.given.empty()) out = setting.given;
  setting.in_force = out;
}

// Accepts absolute paths only. `unset` describes the default.
void read_path(Reading& reading, const char* name, std::string& out, const char* unset) {
  Setting& setting = add_setting(reading, name, "an absolute path");
  setting.is_understood = setting.given.empty() || setting.given.starts_with('/');
  if (setting.is_understood) out = setting.given;
  setting.in_force = setting.is_understood ? out : unset;
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
  static constexpr Choice<IsaCap> kIsas[] = {
      {"scalar", IsaCap::scalar}, {"avx2", IsaCap::avx2}, {"avx512", IsaCap::avx512}, {"neon", IsaCap::neon}};
  static constexpr Choice<RowStreams> kStreams[] = {
      {"auto", RowStreams::automatic}, {"one", RowStreams::one}, {"several", RowStreams::several}};
  static constexpr Choice<LogLevel> kLevels[] = {{"error", LogLevel::error},
                                                 {"warn", LogLevel::warn},
                                                 {"info", LogLevel::info},
                                                 {"debug", LogLevel::debug}};
  read_choice<DeviceChoice>(*reading, "OPENACLNN_DEVICE", kDevices, env.device);
  read_choice<CheckMode>(*reading, "OPENACLNN_CHECK", kChecks, env.check);
  read_choice<bool>(*reading, "OPENACLNN_ALLOCATOR", kAllocators, env.guard_allocator);
  read_choice<bool>(*reading, "OPENACLNN_LIMITS", kLimits, env.vendor_limits);
  read_choice<bool>(*reading, "OPENACLNN_BLOCKING", kSwitch, env.blocking);
  read_integer(*reading, "OPENACLNN_NUM_THREADS", 1, INT_MAX, env.num_threads, "all available");
  read_choice<IsaCap>(*reading, "OPENACLNN_ISA", kIsas, env.isa);
  if (env.isa == IsaCap::none) reading->settings.back().in_force = "the best available";
  read_choice<RowStreams>(*reading, "OPENACLNN_ROW_STREAMS", kStreams, env.row_streams);
  read_integer(*reading, "OPENACLNN_CPU_DEVICES", 1, 64, env.cpu_devices);
  read_text(*reading, "OPENACLNN_SOC_NAME", "any text", env.soc_name);
  read_path(*reading, "OPENACLNN_CUDA_PLUGIN", env.cuda_plugin, "the plugin beside the library");
  read_text(*reading, "OPENACLNN_TRACE", "a file", env.trace);
  read_text(*reading, "OPENACLNN_DUMP", "a folder, or folder:operator,...", env.dump);
  if (!env.dump.empty()) env.dump = path_from_root(env.dump).value_or(env.dump);
  read_choice<LogLevel>(*reading, "OPENACLNN_LOG", kLevels, env.log);
  return reading;
}

constexpr std::string_view kPrefix = "OPENACLNN_";

// Returns the setting's suffix that is most similar to the variable's, or an empty string if none is similar.
std::string_view nearest_setting(std::string_view name, const std::vector<Setting>& settings) {
  std::vector<std::string_view> known;
  for (const Setting& setting : settings)
    known.push_back(std::string_view(setting.name).substr(kPrefix.size()));
  return nearest_word(name.substr(kPrefix.size()), known);
}

// Reports variables whose names resemble a setting's. Other unknown variables may belong to programs, tests
// and tools.
void report_misspelt_names(const std::vector<Setting>& settings) {
  if (environ == nullptr) return;  // after clearenv()
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable = *entry, name = variable.substr(0, variable.find('='));
    const auto is_name = [&](const Setting& setting) { return name == setting.name; };
    if (!name.starts_with(kPrefix) || std::ranges::any_of(settings, is_name)) continue;
    const std::string_view nearest = nearest_setting(name, settings);
    // Set-user-id programs ignore the environment.
    if (nearest.empty() || secure_getenv(std::string(name).c_str()) == nullptr) continue;
    write_line(text("unknown setting ", name, "; did you mean ", kPrefix, nearest, "?"));
  }
}

std::atomic<const Reading*> the_reading{};

}  // namespace

const Environment& environment() {
  if (const Reading* known = the_reading.load(std::memory_order_acquire)) return known->env;
  std::unique_ptr<const Reading> made = read_environment();
  if (is_first(the_reading, made.get())) {
    // Never destroyed: destructors of the caller's static objects may still run operators at exit.
    const Reading& reading = *made.release();
    for (const Setting& setting : reading.settings) {
      if (setting.is_understood) continue;
      write_line(text(setting.name, " is '", setting.given, "'; accepted: ", setting.accepted,
                      "; the default is used"));
    }
    if (reading.env.log >= LogLevel::warn) report_misspelt_names(reading.settings);
  }
  return the_reading.load(std::memory_order_acquire)->env;
}

const std::vector<Setting>& environment_settings() {
  (void)environment();
  return the_reading.load(std::memory_order_acquire)->settings;
}

void log_message(LogLevel level, const std::string& message) {
  if (level <= environment().log) write_line(message);
}

}  // namespace openaclnn
