// The course of a training run and its two files: loss.csv for programs, loss.svg for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace train {

// Losses in nats per byte.
struct CurvePoint {
  int64_t step;
  double train_loss;                                 // of the step's batch, before its update
  std::optional<double> held_out_raw, held_out_ema;  // at the steps where the held-out sample was evaluated
};

struct Curve {
  std::vector<CurvePoint> points;
  double unigram_entropy = 0;
  double bigram_entropy = 0;
};

// Columns step,train_loss,held_out_loss,held_out_ema_loss, the last two empty where nothing was
// evaluated. 17 digits: equal files mean equal bits.
std::string curve_csv(const Curve& curve);
// A stand-alone picture: smoothed training loss, both held-out losses, and the entropies as lines
// to beat.
std::string curve_svg(const Curve& curve, const std::string& title);

}  // namespace train
