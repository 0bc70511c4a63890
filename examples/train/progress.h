// What the user sees while training: on a terminal one line that keeps up with the steps, elsewhere only lines worth keeping in a log.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "operators.h"

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
  // Removes an unfinished line, so that an error message starts on a clean one.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // After every step. Off a terminal a line appears at every twentieth of the run, unless checks print lines anyway.
  void step(const Status& status, bool checks_print);
  // After a checked step: the same line with the worst errors of the check, kept on the screen.
  void checked(const Status& status, const std::vector<OperatorRecord>& check);

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
