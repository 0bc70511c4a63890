// openaclnn trace: runs a program with OPENACLNN_TRACE, and summarises traces.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "files/json.h"
#include "new_file.h"
#include "process.h"
#include "program.h"
#include "streams.h"
#include "suggest.h"
#include "terminal.h"

namespace openaclnn_cli {

namespace {

using nlohmann::json;

// A trace's data about one operator. Times are in microseconds, as in the file.
struct Total {
  int64_t calls = 0, faults = 0;
  double task = 0, bytes = 0, phase1 = 0, phase2 = 0;
  int64_t phase1_calls = 0, phase2_calls = 0, rejected = 0;
};

constexpr uint64_t kMostTraceBytes = uint64_t{1} << 30;  // JSON of that size takes ten times the memory

// Reads the file, which may also be a pipe. A file that does not start like a trace, such as /dev/zero, is
// not read to its end.
std::string read_trace(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw BadInput(fmt::format("{} cannot be opened: {}", path, std::strerror(errno)));
  if (file.peek() != '[') throw BadInput(fmt::format("{} isn't a trace of openaclnn", path));
  std::string text;
  std::vector<char> piece(size_t{1} << 20);
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0) {
    text.append(piece.data(), static_cast<size_t>(file.gcount()));
    if (text.size() > kMostTraceBytes)
      throw BadInput(fmt::format("{} has more than {} bytes, the limit of --summary", path, kMostTraceBytes));
  }
  return text;
}

// Returns null if the text isn't JSON.
json events_of(const std::string& text, const std::string& path) {
  openaclnn_files::JsonRules shallow;
  shallow.most_depth = 12;  // more than openaclnn writes; freeing deeper values would exhaust the stack
  try {
    return openaclnn_files::parse_json(text, shallow);
  } catch (const openaclnn_files::JsonError& error) {
    if (error.kind == openaclnn_files::JsonError::depth)
      throw BadInput(fmt::format("{} isn't a trace of openaclnn: its values are nested too deeply", path));
    return nullptr;
  }
}

// If the program ended without closing the trace, the final bracket and perhaps a part of the last line are
// missing.
json parse_events(const std::string& path) {
  const std::string text = read_trace(path);
  const size_t last_line = text.rfind(",\n");
  json events = events_of(text, path);
  if (events.is_null()) events = events_of(text + "]", path);
  if (events.is_null() && last_line != std::string::npos)
    events = events_of(text.substr(0, last_line) + "]", path);
  if (!events.is_array()) throw BadInput(fmt::format("{} isn't a trace of openaclnn", path));
  return events;
}

std::map<std::string, Total> add_up(const json& events, const std::string& path) {
  std::map<std::string, Total> totals;
  for (const json& event : events) {
    if (event.value("ph", "") != "X") continue;
    const std::string category = event.value("cat", ""), ending = "GetWorkspaceSize";
    std::string name = printable(event.value("name", ""));
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
    const double duration = event.value("dur", 0.0);
    static const json kNone = json::object();
    const auto found = event.find("args");
    const json& arguments = found != event.end() ? *found : kNone;
    Total& total = totals[name];
    if (category == "task") {
      ++total.calls;
      total.task += duration;
      total.bytes += arguments.value("bytes", 0.0);
      total.faults += arguments.contains("fault") ? 1 : 0;
    } else if (category == "phase 1" || category == "phase 2") {
      (category == "phase 1" ? total.phase1 : total.phase2) += duration;
      ++(category == "phase 1" ? total.phase1_calls : total.phase2_calls);
      total.rejected += arguments.value("code", 0) != 0 ? 1 : 0;
    } else {
      throw BadInput(fmt::format("{} isn't a trace of openaclnn: it has an event of category '{}'", path,
                                 shown(category)));
    }
  }
  return totals;
}

double mean(double sum, int64_t count) { return count > 0 ? sum / static_cast<double>(count) : 0; }

int print_summary(const std::string& path, bool as_json) {
  std::map<std::string, Total> totals;
  try {
    totals = add_up(parse_events(path), path);
  } catch (const json::exception&) {
    throw BadInput(fmt::format("{} isn't a trace of openaclnn", path));
  }
  std::vector<std::pair<std::string, Total>> sorted(totals.begin(), totals.end());
  std::ranges::stable_sort(sorted,
                           [](const auto& a, const auto& b) { return a.second.task > b.second.task; });
  double all = 0;
  for (const auto& [name, total] : sorted) all += total.task;
  Table table(
      {"operator", "calls", "time", "share", "mean", "GB/s", "phase 1", "phase 2", "faults", "rejected"});
  json report = json::array();
  for (const auto& [name, t] : sorted) {
    const double share = all > 0 ? 100 * t.task / all : 0, speed = t.task > 0 ? t.bytes / t.task / 1e3 : 0;
    table.add({name, std::to_string(t.calls), seconds_text(t.task / 1e6), fmt::format("{:.1f} %", share),
               seconds_text(mean(t.task, t.calls) / 1e6), fmt::format("{:.2f}", speed),
               seconds_text(mean(t.phase1, t.phase1_calls) / 1e6),
               seconds_text(mean(t.phase2, t.phase2_calls) / 1e6), std::to_string(t.faults),
               std::to_string(t.rejected)});
    report.push_back({{"operator", name},
                      {"calls", t.calls},
                      {"seconds", t.task / 1e6},
                      {"bytes", t.bytes},
                      {"phase1Seconds", t.phase1 / 1e6},
                      {"phase2Seconds", t.phase2 / 1e6},
                      {"faults", t.faults},
                      {"rejected", t.rejected}});
  }
  if (as_json) {
    print_json(report);
  } else {
    table.print();
  }
  return kFine;
}

// The output of a traced program: one file, one file for each process, or a pipe or device.
class TraceOutput {
 public:
  // Checks that the output can be written. An older file is emptied, so that it is not mistaken for the trace
  // of this run.
  explicit TraceOutput(const std::string& name)
      : name_(name), path_(std::filesystem::absolute(name).string()), kind_(kind_of(name, path_)) {
    if (kind_ == Kind::files) {
      if (access(folder().c_str(), W_OK | X_OK) != 0) refuse();
      before_ = files();
    } else if (kind_ == Kind::file) {
      std::error_code error;
      existed_ = std::filesystem::exists(path_, error);
      const File file(open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
      if (*file < 0) refuse();
      if (flock(*file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        throw BadInput(fmt::format("{} is the trace of another process that runs; name another file", name_));
      // A byte shows that the disk isn't full. Otherwise an empty file would look like that of a program without calls.
      if (ftruncate(*file, 0) == 0 && pwrite(*file, "[", 1, 0) == 1 && ftruncate(*file, 0) == 0) return;
      const int why = errno;
      if (!existed_) unlink(path_.c_str());
      errno = why;
      refuse();
    }
  }
  const std::string& path() const { return path_; }

  // Prints where the trace is, or why there is none. Returns the exit code for a run that the program ended
  // with `code`.
  int report(const std::string& program, int code) const {
    if (kind_ == Kind::stream) return code;  // its reader knows what arrived
    const std::vector<std::string> made = new_files();
    if (kind_ == Kind::files ? made.empty() : is_missing()) {
      complain(fmt::format("{} called no operator of openaclnn, so there is no trace", program));
      return code != 0 ? code : static_cast<int>(kProblem);
    }
    if (kind_ == Kind::files) {
      const std::string first = (std::filesystem::path(name_).parent_path() / made.front()).string();
      const std::string what = made.size() == 1 ? "the trace of one process is"
                                                : fmt::format("traces of {} processes are", made.size());
      complain(fmt::format("{} in {}; to summarize {}: openaclnn trace --summary {}", what, name_,
                           made.size() == 1 ? "it" : "one", shell_word(first)));
    } else if (is_complete()) {
      complain(fmt::format("the trace is in {}; to summarize it: openaclnn trace --summary {}", name_,
                           shell_word(name_)));
    } else {
      complain(
          fmt::format("the trace in {} ends early, because the program crashed or the file could not be "
                      "written; to summarize it: openaclnn trace --summary {}",
                      name_, shell_word(name_)));
    }
    return code;
  }

 private:
  enum class Kind { file, files, stream };
  static constexpr std::string_view kPid = "%p";

  static Kind kind_of(const std::string& name, const std::string& path) {
    if (std::filesystem::path(name).filename().string().find(kPid) != std::string::npos) return Kind::files;
    std::error_code error;
    const std::filesystem::file_status status = std::filesystem::status(path, error);
    return is_other(status) || is_character_file(status) || is_fifo(status) ? Kind::stream : Kind::file;
  }

  [[noreturn]] void refuse() const {
    throw Failure(fmt::format("{} cannot be written: {}", name_, std::strerror(errno)));
  }

  std::string folder() const { return std::filesystem::path(path_).parent_path().string(); }

  // Returns the files of processes, with the times of their last changes.
  std::map<std::string, std::filesystem::file_time_type> files() const {
    const std::string pattern = std::filesystem::path(path_).filename().string();
    const size_t at = pattern.find(kPid);
    if (at == std::string::npos) return {};
    const std::string start = pattern.substr(0, at), end = pattern.substr(at + kPid.size());
    std::map<std::string, std::filesystem::file_time_type> found;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder(), error), none; !error && entry != none;
         entry.increment(error)) {
      const std::string file = entry->path().filename().string();
      const size_t digits = file.find_first_not_of("0123456789", std::min(start.size(), file.size()));
      const bool is_of_a_process = file.starts_with(start) && digits != start.size() &&
                                   file.substr(std::min(digits, file.size())) == end;
      std::error_code unknown_time;
      if (is_of_a_process) found[file] = entry->last_write_time(unknown_time);
    }
    return found;
  }

  // Returns the names of the files that this run made or changed.
  std::vector<std::string> new_files() const {
    std::vector<std::string> made;
    if (kind_ != Kind::files) return made;
    for (const auto& [file, time] : files()) {
      const auto old = before_.find(file);
      if (old == before_.end() || old->second != time) made.push_back(file);
    }
    return made;
  }

  // Returns whether the one file has no trace. Removes it if it was only made to see that it can be.
  bool is_missing() const {
    std::error_code error;
    const bool is_empty = std::filesystem::file_size(path_, error) == 0 || error;
    if (is_empty && !existed_) std::filesystem::remove(path_, error);
    return is_empty;
  }

  bool is_complete() const {
    constexpr std::string_view kEnd = "\n]\n";
    std::ifstream file(path_, std::ios::binary);
    file.seekg(-static_cast<std::streamoff>(kEnd.size()), std::ios::end);
    std::string end(kEnd.size(), '\0');
    file.read(end.data(), static_cast<std::streamsize>(end.size()));
    return end == kEnd;
  }

  const std::string name_, path_;
  const Kind kind_;
  bool existed_ = false;
  std::map<std::string, std::filesystem::file_time_type> before_;
};

int trace_program(const std::vector<std::string>& words, const std::string& out) {
  if (!is_program(words[0])) return run_here(words, {});  // fails; an older trace stays
  const TraceOutput output(out);
  return output.report(words[0], run_here(words, {"OPENACLNN_TRACE=" + output.path()}));
}

struct TraceOptions {
  std::string out = "openaclnn-trace.json", summary;
  bool json = false;
};

}  // namespace

void add_trace(Program& program) {
  const auto options = std::make_shared<TraceOptions>();
  const auto command = std::make_shared<CLI::App*>(nullptr);
  *command = add_command(
      program, "trace", "Run a program and record its operator calls, or summarize a trace",
      "Examples: openaclnn trace ./train --steps 10\n"
      "          openaclnn trace --summary openaclnn-trace.json\n"
      "Write options of openaclnn before the program. You can open the trace in https://ui.perfetto.dev and\n"
      "about:tracing. It contains both phases of each call, and the task with its shapes, dtypes, bytes,\n"
      "GB/s, threads, instruction set, stream and fault. The exit code is the program's. To trace a program\n"
      "that you start in another way, set OPENACLNN_TRACE=FILE.",
      [&program, options, command] {
        const std::vector<std::string> unknown = (*command)->remaining();
        if (!unknown.empty() && unknown[0].starts_with('-'))
          throw BadInput(unknown_word_text(**command, unknown[0]));
        const std::vector<std::string> words = words_for(program, **command);
        if (options->summary.empty() == words.empty())
          throw BadInput("`openaclnn trace` requires either a program or --summary FILE");
        const auto is_given = [command](const char* name) {
          return (*command)->get_option(name)->count() > 0;
        };
        if (words.empty() && is_given("--out"))
          throw BadInput("--out has no effect with --summary; it is the file of a program's trace");
        if (!words.empty() && is_given("--json"))
          throw BadInput(
              fmt::format("--json has no effect without --summary; words of {} follow it", shown(words[0])));
        return words.empty() ? print_summary(options->summary, options->json)
                             : trace_program(words, options->out);
      });
  (*command)->prefix_command();
  (*command)
      ->add_option("-o,--out", options->out, "Write the trace to this file; %p in the name becomes the PID")
      ->type_name("FILE")
      ->capture_default_str();
  (*command)
      ->add_option("--summary", options->summary, "Print the operators of a trace, ordered by time")
      ->type_name("FILE");
  add_json_option(**command, options->json);
}

}  // namespace openaclnn_cli
