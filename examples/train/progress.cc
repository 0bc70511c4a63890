// Formatting of the live line and of the log lines.
#include "progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "report.h"

namespace train {
namespace {

std::string columns(const Status& status) {
  const auto loss = [](const std::optional<double>& value) { return value ? fmt::format("{:.3f}", *value) : std::string("-"); };
  return fmt::format("{:>6}  {:>6.3f}  {:>8}  {:>6}  {:>8}", status.step, status.train_loss, loss(status.held_out_raw),
                     loss(status.held_out_ema), with_commas(static_cast<int64_t>(status.bytes_per_second)));
}

}  // namespace

Progress::Progress(int64_t total_steps, bool quiet) : total_steps_(total_steps), quiet_(quiet), terminal_(isatty(STDOUT_FILENO) == 1) {}

Progress::~Progress() { clear(); }

void Progress::header() {
  if (header_printed_) return;
  header_printed_ = true;
  fmt::print("{:>6}  {:>6}  {:>8}  {:>6}  {:>8}  {}\n", "step", "loss", "held-out", "EMA", "bytes/s",
             "worst error against the oracle: ulp (share of the promised bound)");
}

void Progress::clear() {
  if (!line_open_) return;
  fmt::print("\r\033[K");
  std::fflush(stdout);
  line_open_ = false;
}

void Progress::step(const Status& status, bool checks_print) {
  if (quiet_) return;
  if (terminal_) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_drawn_ < std::chrono::milliseconds(100)) return;
    last_drawn_ = now;
    header();
    fmt::print("\r\033[K{}  {} of {} steps", columns(status), status.step, total_steps_);
    std::fflush(stdout);
    line_open_ = true;
  } else if (!checks_print && (status.step % std::max<int64_t>(total_steps_ / 20, 1) == 0 || status.step == total_steps_)) {
    header();
    fmt::print("{}\n", columns(status));
    std::fflush(stdout);
  }
}

void Progress::checked(const Status& status, const std::vector<OperatorRecord>& check) {
  if (quiet_) return;
  header();
  clear();
  fmt::print("{}  {}\n", columns(status), short_errors(check));
  std::fflush(stdout);
}

}  // namespace train
