// Runs one step after the other, and evaluates a fixed sample of held-out positions forty times.
#include "trainer.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>

#include "errors.h"
#include "progress.h"
#include "report.h"

namespace train {
namespace {

// Points of the held-out curves; every second one prints a line.
constexpr int64_t kEvaluations = 40;
// A standard error of about 0.02 nats; the same positions each time.
constexpr int64_t kEvaluationPositions = 4096;
// The final figure uses all held-out positions of texts up to 5 MB.
constexpr int64_t kFinalPositions = 1 << 18;
// Temperature of the printed sample: a little below 1 reads best.
constexpr double kTemperature = 0.7;

constexpr ModelShape kShape{.bytes = 256,
                            .context = kContext,
                            .byte_width = 48,
                            .width = 320,
                            .attention = {.heads = 2,
                                          .head_width = 32,
                                          .window = 16,
                                          .blocks = {.length = 16, .stride = 8},
                                          .far = 16},
                            .experts = 4,
                            .expert_width = 256};

}  // namespace

Trainer::Trainer(const Options& options, const Precision& precision, const Corpus& corpus,
                 Operators& operators)
    : options_(options),
      precision_(precision),
      corpus_(corpus),
      operators_(operators),
      random_(static_cast<uint64_t>(options.seed)),
      model_(kShape, random_, operators),
      optimizer_(model_.parameters(), options.steps, precision, operators),
      sampler_(corpus, random_) {}

Trainer::HeldOutLoss Trainer::evaluate(const std::vector<Batch>& batches) {
  const auto mean_loss = [&](Weights which) {
    model_.load(which);
    double loss = 0;
    int64_t positions = 0;
    for (const Batch& batch : batches) {
      loss += model_.summed_loss(batch);
      positions += batch.rows();
    }
    return loss / static_cast<double>(positions);
  };
  const double ema = mean_loss(Weights::kEma);
  const double raw = mean_loss(Weights::kRaw);
  operators_.synchronize();
  return {raw, ema};
}

TrainingResult Trainer::run() {
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  const auto start = Clock::now();
  const double oracle_before = operators_.oracle_seconds();
  TrainingResult result;
  Progress progress(options_.steps, options_.quiet);
  const std::vector<Batch> held_out_sample = corpus_.held_out(kEvaluationPositions);
  const int64_t evaluate_every = std::max<int64_t>(options_.steps / kEvaluations, 1);
  const auto evaluates = [&](int64_t step) {
    // The loss falls fastest at first; some more points show how.
    const bool early =
        step >= 32 && step < evaluate_every && std::has_single_bit(static_cast<uint64_t>(step));
    return early || step % evaluate_every == 0 || step == options_.steps;
  };
  Status status;
  Batch batch;
  double loss_sum = 0,
         weight_sum = 0;  // weight of the shown loss: a moving average over about twenty steps
  for (int64_t step = 1; step <= options_.steps; ++step) {
    const bool check = options_.check_every > 0 && (step == 1 || step % options_.check_every == 0);
    operators_.set_checking(check);
    sampler_.next(options_.batch, batch);
    const double loss = model_.forward_backward(batch, precision_.loss_scale);
    if (!std::isfinite(loss)) throw RunError(fmt::format("the loss is not finite at step {}", step));
    optimizer_.step();
    operators_.synchronize();
    model_.load(Weights::kRaw);
    operators_.set_checking(false);

    result.curve.points.push_back({step, loss, {}, {}});
    loss_sum = 0.95 * loss_sum + loss;
    weight_sum = 0.95 * weight_sum + 1;
    if (evaluates(step)) {
      const HeldOutLoss held_out = evaluate(held_out_sample);
      result.curve.points.back().held_out_raw = status.held_out_raw = held_out.raw;
      result.curve.points.back().held_out_ema = status.held_out_ema = held_out.ema;
    }
    const double elapsed = seconds_since(start) - (operators_.oracle_seconds() - oracle_before);
    status.step = step;
    status.train_loss = loss_sum / weight_sum;
    status.bytes_per_second = static_cast<double>(step * options_.batch) / elapsed;
    if (step % (2 * evaluate_every) == 0 || step == options_.steps)
      progress.line(status, short_errors(operators_.take_recent_check()));
    else
      progress.live(status);
  }
  const HeldOutLoss final_loss = evaluate(corpus_.held_out(kFinalPositions));
  result.held_out_raw = final_loss.raw;
  result.held_out_ema = final_loss.ema;
  result.seconds = seconds_since(start) - (operators_.oracle_seconds() - oracle_before);
  result.curve.unigram_entropy = corpus_.unigram_entropy();
  result.curve.bigram_entropy = corpus_.bigram_entropy();
  return result;
}

std::string Trainer::sample(int64_t length) {
  model_.load(Weights::kEma);
  Batch batch;
  corpus_.append(corpus_.held_out_begin(), corpus_.held_out_begin() + 1, batch);
  std::vector<int32_t> contexts =
      batch.contexts;  // of the last positions, as far back as the model learnt to see
  std::string text;
  for (int64_t i = 0; i < length; ++i) {
    const int64_t rows = static_cast<int64_t>(contexts.size()) / kContext;
    const RowVector logits =
        model_.logits(contexts, {{rows}}).row(rows - 1) / static_cast<float>(kTemperature);
    const Eigen::ArrayXd weights = (logits.array() - logits.maxCoeff()).exp().cast<double>().transpose();
    double remaining = random_.uniform() * weights.sum();
    int32_t byte = 0;
    while (byte + 1 < weights.size() && (remaining -= weights[byte]) >= 0) ++byte;
    text += static_cast<char>(byte);
    if (rows == kMaxSequence) contexts.erase(contexts.begin(), contexts.begin() + kContext);
    contexts.resize(contexts.size() + kContext);
    std::copy(contexts.end() - 2 * kContext + 1, contexts.end() - kContext, contexts.end() - kContext);
    contexts.back() = byte;
  }
  operators_.synchronize();
  return text;
}

}  // namespace train
