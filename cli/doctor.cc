// openaclnn doctor: reports the installation, the machine, a measurement, and every problem with a remedy.
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/affinity.h"
#include "conflicts.h"
#include "library.h"
#include "machine.h"
#include "program.h"
#include "terminal.h"

namespace openaclnn_cli {

namespace {

using nlohmann::json;

// "3.2 GiB of 8.0 GiB available": of the machine, or of the smallest limit among this process's control
// groups.
std::string memory_text(const json& library) {
  const json& memory = library["memory"];
  if (memory.is_null()) return "unknown";
  return fmt::format("{} of {} available", bytes_text(memory["free"].get<double>()),
                     bytes_text(memory["total"].get<double>()));
}

std::string quota_text(const json& library) {
  const json& cpus = library["cpuQuota"];
  if (cpus.is_null()) return "unknown";
  return cpus > 0 ? fmt::format("{:.3g} CPUs", cpus.get<double>()) : "none";
}

json machine_facts(const json& library, int threads) {
  json sizes = json::object();
  for (const Cache& cache : caches()) sizes[cache.name] = cache.bytes;
  return {{"cpu", cpu_model()},
          {"memory", memory_text(library)},
          {"caches", sizes},
          {"affinity", openaclnn::affinity_cpus()},
          {"quota", quota_text(library)},
          {"copyBytesPerSecond", copy_bandwidth(threads, 2.0)}};
}

// More threads than CPUs share CPUs, and every loop waits for the last thread.
void find_thread_problems(int threads, std::vector<Problem>& problems) {
  const int cpus = openaclnn::affinity_cpus();
  if (cpus == 0 || threads <= cpus) return;
  problems.push_back(
      {fmt::format("openaclnn uses {} threads, but this process may use only {} CPUs", threads, cpus),
       "unset OPENACLNN_NUM_THREADS, or set it to the number of CPUs"});
}

void find_device_problems(const json& library, std::vector<Problem>& problems) {
  if (library["devices"] > 0) return;
  problems.push_back({fmt::format("no device is available: {}", library["whyNone"].get<std::string>()),
                      "unset OPENACLNN_DEVICE, or set it to auto or cpu"});
}

bool on_gpu(const json& library) { return library["platform"] == "cuda"; }

// Says whether a GPU is used, or why not. A driver without a plugin is only a hint, because the CPU computes
// the same.
std::string gpu_text(const json& library) {
  if (on_gpu(library)) {
    return fmt::format("{}", fmt::join(library["deviceNames"].get<std::vector<std::string>>(), ", "));
  }
  return fmt::format("{}; NVIDIA driver {}", library["whyNoCuda"].get<std::string>(),
                     has_nvidia_driver() ? "loaded" : "not loaded");
}

void line(const char* name, const std::string& text) {
  fmt::print("{} {}\n", toned(Tone::strong, fmt::format("{:12}", name)), printable(text));
}

std::string instruction_sets(const json& library) {
  std::string text = on_gpu(library)
                         ? "unused, because operators run on the GPU;"
                         : fmt::format("{} selected;", library["instructionSet"].get<std::string>());
  for (const json& set : library["instructionSets"]) {
    text += fmt::format(" {}{}", set["name"].get<std::string>(),
                        set["available"].get<bool>() ? "" : " (not supported by this CPU)");
  }
  return text + " built";
}

void print_report(const json& report) {
  const json &library = report["library"], &machine = report["machine"];
  line("library", fmt::format("{}, {}", library["version"].get<std::string>(),
                              report["libraryPath"].get<std::string>()));
  line("devices",
       fmt::format("{} ({})", library["devices"].get<int>(), library["platform"].get<std::string>()));
  line("cpu", machine["cpu"].get<std::string>());
  line("isa", instruction_sets(library));
  line("threads", fmt::format("{}; {} CPUs by affinity, cgroup quota {}", report["threads"].get<int>(),
                              machine["affinity"].get<int>(), machine["quota"].get<std::string>()));
  std::string sizes;
  for (const auto& [name, bytes] : machine["caches"].items())
    sizes += fmt::format("{}{} {}", sizes.empty() ? "" : ", ", name, bytes_text(bytes.get<double>()));
  line("caches", sizes.empty() ? "unknown" : sizes);
  line("memory", machine["memory"].get<std::string>());
  line("copying",
       fmt::format("{:.1f} GB/s read and written by {} threads",
                   machine["copyBytesPerSecond"].get<double>() / 1e9, report["threads"].get<int>()));
  line("gpu", report["gpu"].get<std::string>());
  for (const auto& [name, text] : report["python"].items()) line(name.c_str(), text.get<std::string>());
  for (const json& setting : library["environment"]) {
    const bool is_set = !setting["given"].get<std::string>().empty();
    const std::string in_force = setting["inForce"];
    const std::string text = fmt::format("{:24} {}{}", setting["name"].get<std::string>(),
                                         in_force.empty() ? "off" : in_force, is_set ? "" : " (default)");
    fmt::print("  {}\n", is_set ? printable(text) : toned(Tone::faint, text));
  }
  for (const json& problem : report["problems"]) {
    fmt::print("{} {}\n  {} {}\n", toned(Tone::bad, "problem:"),
               printable(problem["problem"].get<std::string>()), toned(Tone::strong, "remedy:"),
               printable(problem["remedy"].get<std::string>()));
  }
  if (report["problems"].empty()) fmt::print("{}\n", toned(Tone::good, "no problem found"));
}

int examine(bool as_json) {
  const json& library = library_facts();
  const int threads =
      on_gpu(library) ? std::max(openaclnn::affinity_cpus(), 1) : library["threads"].get<int>();
  json report = {{"library", library}, {"libraryPath", library_path()}, {"threads", threads}};
  std::vector<Problem> problems;
  find_device_problems(library, problems);
  find_thread_problems(threads, problems);
  find_setting_problems(library["environment"], problems);
  find_library_problems(library_path(), problems);
  report["machine"] = machine_facts(library, threads);
  report["gpu"] = gpu_text(library);
  report["python"] = python_facts();
  report["problems"] = json::array();
  for (const Problem& problem : problems)
    report["problems"].push_back({{"problem", problem.what}, {"remedy", problem.remedy}});
  if (as_json) {
    print_json(report);
  } else {
    print_report(report);
  }
  return problems.empty() ? kFine : kProblem;
}

}  // namespace

void add_doctor(Program& program) {
  const auto as_json = std::make_shared<bool>(false);
  CLI::App* const command = add_command(
      program, "doctor", "Examine the installation and the machine, and print each problem with a remedy",
      "Prints the library's version and file, devices, instruction sets, threads, caches, Python packages,\n"
      "and the environment variables in effect. Measures for two seconds how fast threads copy memory.\n"
      "Reports unrecognized variables, and libraries of CANN that would be loaded instead of openaclnn.\n"
      "The exit code is 1 if there is a problem.",
      [as_json] { return examine(*as_json); });
  add_json_option(*command, *as_json);
}

}  // namespace openaclnn_cli
