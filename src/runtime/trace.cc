// Writes the trace: one event per line, complete when the process exits. Each event is written when it
// happens, so that a crash loses none. Viewers also accept the truncated trace of a crash.
#include "runtime/trace.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

#include "base/cancellation.h"
#include "base/env.h"
#include "base/quiet_signals.h"
#include "base/safe_open.h"
#include "base/text.h"

namespace openaclnn {

namespace {

// Created while the library loads and never destroyed: destructors of the caller's static objects may still
// run operators.
struct TraceFile {
  std::mutex mutex;
  std::atomic<int> file{-1};    // set last
  std::atomic<pid_t> owner{0};  // the process that opens the file; 0: none has tried
  bool has_ended = false;       // the file is complete, or could not be written
  dev_t device = 0;             // with the inode: which file it is
  ino_t inode = 0;
  Clock::time_point start;
};
TraceFile* const trace = new TraceFile;

// Daemons and launchers close all descriptors that they don't know. A file of the program may then have this one.
bool is_still_open() {
  struct stat status = {};
  return fstat(trace->file, &status) == 0 && status.st_dev == trace->device && status.st_ino == trace->inode;
}

// Also unlocks the file: a forked child has the same lock.
void end() {
  if (is_still_open()) {
    flock(trace->file, LOCK_UN);
    close(trace->file);
  }
  trace->file = -1;
  trace->has_ended = true;
}

void append(std::string_view line) {
  const CancellationHold no_cancellation;
  const QuietSignals quiet;
  while (!line.empty() && trace->file >= 0) {
    const bool is_open = is_still_open();
    const ssize_t count = is_open ? write(trace->file, line.data(), line.size()) : -1;
    if (is_open && count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const char* const why = is_open ? std::strerror(errno) : "the program closed its file";
      log_message(LogLevel::error, text("the trace is incomplete: ", why));
      end();
    } else {
      line.remove_prefix(static_cast<size_t>(count));
    }
  }
}

// Replaces "%p" with the PID, so that each process of a job writes its own file. Folders keep their names: one with "%p" would
// have to exist for each PID.
std::string file_name() {
  std::string name = environment().trace;
  const size_t slash = name.rfind('/');
  if (const size_t at = name.find("%p", slash == std::string::npos ? 0 : slash); at != std::string::npos)
    name.replace(at, 2, std::to_string(getpid()));
  return name;
}

void close_trace() {
  if (getpid() != trace->owner) return;
  const CancellationHold no_cancellation;
  const std::lock_guard lock(trace->mutex);
  if (trace->file < 0) return;
  append("\n]\n");
  if (trace->file >= 0) end();
}

double microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

std::string process_event() {
  Json json;
  json.open('{').field("name", "process_name").field("ph", "M").field("pid", static_cast<int64_t>(getpid()));
  json.key("args").open('{').field("name", text("openaclnn in process ", getpid())).close('}').close('}');
  return json.text();
}

}  // namespace

bool open_trace() {
  const CancellationHold no_cancellation;
  if (environment().trace.empty()) return false;
  // A forked child inherits the file and does not use it. It must not lock either: another thread of its parent may
  // have held the lock.
  pid_t none = 0;
  trace->owner.compare_exchange_strong(none, getpid());
  if (trace->owner != getpid()) return false;
  const std::lock_guard lock(trace->mutex);
  if (trace->file >= 0) return true;
  if (trace->has_ended) return false;
  const std::string name = file_name();
  // O_NONBLOCK prevents a named pipe without a reader from blocking the caller. Writes to a pipe may wait.
  const int file = open_above_standard(name.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK, 0666);
  if (file < 0) {
    log_message(LogLevel::error,
                text("OPENACLNN_TRACE is '", name, "', which cannot be written: ",
                     errno == ENXIO ? "it is a pipe that no process reads" : std::strerror(errno)));
    trace->has_ended = true;  // a thread that waits for the lock does not report it again
    return false;
  }
  (void)fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK);
  struct stat status = {};
  const bool is_regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  trace->device = status.st_dev;
  trace->inode = status.st_ino;
  if (is_regular && flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    log_message(LogLevel::error,
                text("OPENACLNN_TRACE is '", name, "', which another process writes; put %p into the ",
                     "name, which becomes the PID, for a file for each process"));
    close(file);
    trace->has_ended = true;
    return false;
  }
  if (is_regular) (void)!ftruncate(file, 0);
  trace->start = Clock::now();
  trace->file.store(file, std::memory_order_release);
  append("[\n" + process_event());
  std::atexit(close_trace);
  return true;
}

bool is_tracing() { return trace->file.load(std::memory_order_acquire) >= 0; }

void trace_event(const std::string& name, const char* category, Clock::time_point begin,
                 Clock::time_point end, const std::function<void(Json&)>& arguments) {
  if (getpid() != trace->owner) return;
  Json json;
  json.open('{').field("name", name).field("cat", category).field("ph", "X");
  json.field("ts", microseconds(begin - trace->start)).field("dur", microseconds(end - begin));
  json.field("pid", static_cast<int64_t>(getpid())).field("tid", static_cast<int64_t>(syscall(SYS_gettid)));
  json.key("args").open('{');
  arguments(json);
  json.close('}').close('}');
  const std::lock_guard lock(trace->mutex);
  if (trace->file >= 0) append(",\n" + json.text());
}

}  // namespace openaclnn
