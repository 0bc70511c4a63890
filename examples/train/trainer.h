// The training loop: batches, updates, evaluations, checks.
#pragma once

#include <string>

#include "corpus.h"
#include "curve.h"
#include "model.h"
#include "optimizer.h"
#include "options.h"
#include "precision.h"

namespace train {

struct TrainingResult {
  Curve curve;
  double held_out_raw = 0;  // nats per byte over the whole held-out part
  double held_out_ema = 0;
  double seconds = 0;  // of training and evaluation, without the oracle
};

class Trainer {
 public:
  Trainer(const Options& options, const Precision& precision, const Corpus& corpus, Operators& operators);

  TrainingResult run();
  // Returns `length` bytes drawn from the averaged weights, one after the other, after the first
  // held-out context.
  std::string sample(int64_t length);

 private:
  // Mean losses of the trained and of the averaged weights.
  struct HeldOutLoss {
    double raw, ema;
  };
  HeldOutLoss evaluate(const std::vector<Batch>& batches);

  const Options& options_;
  const Precision& precision_;
  const Corpus& corpus_;
  Operators& operators_;
  Random random_;
  Model model_;
  Optimizer optimizer_;
  BatchSampler sampler_;
};

}  // namespace train
