// Formatting of the live line and of the log lines.
#include "progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

#include "report.h"

namespace train {
namespace {

std::string columns(const Status& status) {
  const auto loss = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.3f}", *value) : std::string("-");
  };
  return fmt::format("{:>6}  {:>6.3f}  {:>8}  {:>6}  {:>8}", with_commas(status.step), status.train_loss,
                     loss(status.held_out_raw), loss(status.held_out_ema),
                     with_commas(static_cast<int64_t>(status.bytes_per_second)));
}

}  // namespace

Progress::Progress(int64_t total_steps, bool quiet)
    : total_steps_(total_steps), quiet_(quiet), terminal_(isatty(STDOUT_FILENO) == 1) {}

Progress::~Progress() { clear(); }

void Progress::header() {
  if (header_printed_) return;
  header_printed_ = true;
  fmt::print("{:>6}  {:>6}  {:>8}  {:>6}  {:>8}  {}\n", "step", "loss", "held-out", "EMA", "bytes/s",
             "worst error, % of the promise");
}

void Progress::clear() {
  if (!line_open_) return;
  fmt::print("\r\033[K");
  std::fflush(stdout);
  line_open_ = false;
}

void Progress::live(const Status& status) {
  const auto now = std::chrono::steady_clock::now();
  if (quiet_ || !terminal_ || now - last_drawn_ < std::chrono::milliseconds(100)) return;
  last_drawn_ = now;
  header();
  fmt::print("\r\033[K{}  {} % of {} steps", columns(status), 100 * status.step / total_steps_,
             with_commas(total_steps_));
  std::fflush(stdout);
  line_open_ = true;
}

void Progress::line(const Status& status, const std::string& errors) {
  if (quiet_) return;
  header();
  clear();
  fmt::print("{}  {}\n", columns(status), errors);
  std::fflush(stdout);
}

}  // namespace train
