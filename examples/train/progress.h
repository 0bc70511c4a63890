// Output while training: a table of lines to keep and, on a terminal, one live line under it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace train {

struct Status {
  int64_t step = 0;
  double train_loss = 0;                             // smoothed
  std::optional<double> held_out_raw, held_out_ema;  // newest evaluation
  double bytes_per_second = 0;
};

class Progress {
 public:
  Progress(int64_t total_steps, bool quiet);
  // Removes an unfinished live line, so that an error message starts on a clean one.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Redraws the live line, at most ten times a second and only on a terminal.
  void live(const Status& status);
  // Adds a line to the table. `errors`: the worst errors since the line before, as text.
  void line(const Status& status, const std::string& errors);

 private:
  void header();
  void clear();

  int64_t total_steps_;
  bool quiet_;
  bool terminal_;
  bool header_printed_ = false;
  bool line_open_ = false;
  std::chrono::steady_clock::time_point last_drawn_;
};

}  // namespace train
