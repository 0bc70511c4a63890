// Planted faults of optimizers, and the causes that the judge names.
#include <gtest/gtest.h>

#include <cmath>

#include "judge/planted.h"

namespace openaclnn_test {
namespace {

class UpdateCauses : public testing::TestWithParam<Setting> {
 protected:
  Calls calls_ = Calls(GetParam());
};

// One update in double, as EMA mode 1 and AdamW define it: var - lr * (m' / (sqrt(v') + eps) + decay * var).
struct Kernel {
  bool corrects_m = true, corrects_v = true;
  bool has_eps_in_root = false, has_eps_before_correction = false;
  bool averages_old_var = false;
  bool uses_old_moments = false;

  Tensors operator()(const Call& call) const {
    const auto values = [&](const char* name) { return values_of(call.inputs.at(name).at(0)); };
    const bool is_ema = call.inputs.contains("sRef");
    // ApplyAdamWV2 takes numbers in FLOAT.
    const auto real = [&](const char* name) {
      const double value = call.values.reals.at(name);
      return is_ema ? value : static_cast<double>(static_cast<float>(value));
    };
    const double beta1 = real("beta1"), beta2 = real("beta2"), eps = real("eps"), lr = real("lr");
    // ApplyAdamWV2 takes the number of steps before this one.
    const double t = values("step")[0] + (is_ema ? 0 : 1);
    const double r1 = corrects_m ? 1 / (1 - std::pow(beta1, t)) : 1;
    const double r2 = corrects_v ? 1 / (1 - std::pow(beta2, t)) : 1;
    const std::vector<double> grad = values("grad"), old_var = values("varRef"), old_m = values("mRef"),
                              old_v = values("vRef");
    std::vector<double> var = old_var, m = old_m, v = old_v;
    std::vector<double> maximum = is_ema ? values("sRef") : values("maxGradNormOptionalRef");
    for (size_t i = 0; i < var.size(); ++i) {
      m[i] = beta1 * old_m[i] + (1 - beta1) * grad[i];
      v[i] = beta2 * old_v[i] + (1 - beta2) * grad[i] * grad[i];
      double used_m = uses_old_moments ? old_m[i] : m[i], used_v = uses_old_moments ? old_v[i] : v[i];
      if (!is_ema) {
        const double old_maximum = maximum[i];
        maximum[i] = std::max(old_maximum, v[i]);
        used_v = uses_old_moments ? old_maximum : maximum[i];
      }
      const double root = has_eps_in_root             ? std::sqrt(used_v * r2 + eps)
                          : has_eps_before_correction ? (std::sqrt(used_v) + eps) * std::sqrt(r2)
                                                      : std::sqrt(used_v * r2) + eps;
      var[i] -= lr * (used_m * r1 / root + real("weightDecay") * old_var[i]);
      if (!is_ema) continue;
      double& s = maximum[i];
      s = real("emaDecay") * s + (1 - real("emaDecay")) * (averages_old_var ? old_var[i] : var[i]);
    }
    Tensors results;
    const auto store = [&](const char* name, const std::vector<double>& numbers) {
      const Array& like = call.inputs.at(name).at(0);
      results[name] = {array_of(like.dtype, like.dims, numbers)};
    };
    store("varRef", var);
    store("mRef", m);
    store("vRef", v);
    store(is_ema ? "sRef" : "maxGradNormOptionalRef", maximum);
    return results;
  }
};

TEST_P(UpdateCauses, TheKernelOfTheseTestsIsRight) {
  for (Call call : {calls_.ema(1), calls_.adam_w()}) {
    expect_no_cause(call, Kernel()(call));
    call.results = Kernel()(call);
    EXPECT_EQ(judge_call(call, {}).result(), openaclnn_judge::Result::pass);
  }
}

TEST_P(UpdateCauses, BiasCorrection) {
  for (const int64_t mode : {0, 1}) {
    const Call call = calls_.ema(mode);
    Call faulty = call;
    faulty.values.integers["biasCorrection"] = {0};
    expect_cause(call, results_of(faulty), "missing-bias-correction");
    expect_cause(faulty, results_of(call), "bias-correction-applied");
  }
  for (const Call& call : {calls_.ema(1), calls_.adam_w()}) {
    Kernel kernel;
    kernel.corrects_m = false;
    expect_cause(call, kernel(call), "missing-bias-correction");
    kernel = {};
    kernel.corrects_v = false;
    expect_cause(call, kernel(call), "missing-bias-correction");
    kernel.corrects_m = false;
    expect_cause(call, kernel(call), "missing-bias-correction");
  }
}

TEST_P(UpdateCauses, Step) {
  for (const Call& call : {calls_.ema(0), calls_.ema(1), calls_.adam_w()}) {
    for (const int by : {-1, 1}) {
      Call faulty = call;
      change_input(faulty, "step", [by](int64_t, const std::vector<double>& step) { return step[0] + by; });
      expect_cause(call, results_of(faulty), "step-off-by-one");
    }
  }
}

TEST_P(UpdateCauses, WeightDecay) {
  for (const int64_t mode : {0, 1}) {
    const Call call = calls_.ema(mode);
    Call faulty = call;
    faulty.values.reals["weightDecay"] = 0;
    expect_cause(call, results_of(faulty), "weight-decay-ignored");
    faulty = call;
    faulty.values.integers["mode"] = {1 - mode};
    expect_cause(call, results_of(faulty), "mode-flipped");
  }
  const Call ema = calls_.ema(1), adam_w = calls_.adam_w();
  for (const Call& call : {ema, adam_w}) {
    Call faulty = call;
    faulty.values.reals["weightDecay"] /= call.values.reals.at("lr");
    expect_cause(call, results_of(faulty), "decay-without-lr");
  }
  Call faulty = adam_w;
  faulty.values.reals["weightDecay"] = 0;
  expect_cause(adam_w, results_of(faulty), "weight-decay-ignored");
  // L2: the decay joins the gradient, in FLOAT.
  for (auto& [name, arrays] : faulty.inputs) {
    if (name != "step") arrays[0] = array_of(ACL_FLOAT, arrays[0].dims, values_of(arrays[0]));
  }
  const std::vector<double> var = values_of(adam_w.inputs.at("varRef")[0]);
  change_input(faulty, "grad", [&](int64_t i, const std::vector<double>& grad) {
    return grad[static_cast<size_t>(i)] + .1 * var[static_cast<size_t>(i)];
  });
  Tensors results = results_of(faulty);
  for (auto& [name, arrays] : results)
    arrays[0] = array_of(GetParam().dtype, arrays[0].dims, values_of(arrays[0]));
  expect_cause(adam_w, results, "decay-joins-gradient");
}

TEST_P(UpdateCauses, Epsilon) {
  for (const Call& call : {calls_.ema(1), calls_.adam_w()}) {
    Kernel kernel;
    kernel.has_eps_in_root = true;
    expect_cause(call, kernel(call), "eps-inside-root");
    kernel = {};
    kernel.has_eps_before_correction = true;
    expect_cause(call, kernel(call), "eps-before-correction");
    Call faulty = call;
    faulty.values.reals["eps"] = 0;
    expect_cause(call, results_of(faulty), "eps-ignored");
  }
}

TEST_P(UpdateCauses, Averages) {
  const Call call = calls_.ema(1);
  Kernel kernel;
  kernel.averages_old_var = true;
  expect_cause(call, kernel(call), "average-of-old-weights");
  Call faulty = call;
  faulty.values.reals["emaDecay"] = 1 - call.values.reals.at("emaDecay");
  expect_cause(call, results_of(faulty), "average-weights-swapped");
}

TEST_P(UpdateCauses, Moments) {
  for (const Call& call : {calls_.ema(1), calls_.adam_w()}) {
    Call faulty = call;
    std::swap(faulty.values.reals["beta1"], faulty.values.reals["beta2"]);
    expect_cause(call, results_of(faulty), "betas-swapped");
    Kernel kernel;
    kernel.uses_old_moments = true;
    expect_cause(call, kernel(call), "old-moments-used");
  }
}

TEST_P(UpdateCauses, Signs) {
  const Call ema = calls_.ema(1), adam_w = calls_.adam_w();
  Call faulty = adam_w;
  faulty.values.integers["maximize"] = {1};
  expect_cause(adam_w, results_of(faulty), "maximize-flipped");
  // The update and its decay have the other sign.
  faulty = ema;
  faulty.values.reals["lr"] = -.01;
  faulty.values.reals["weightDecay"] = -.1;
  expect_cause(ema, results_of(faulty), "update-sign-flipped");
  faulty = adam_w;
  faulty.values.integers["amsgrad"] = {0};
  Tensors results = results_of(faulty);
  results.erase("maxGradNormOptionalRef");
  expect_cause(adam_w, results, "amsgrad-ignored");
}

TEST_P(UpdateCauses, Lists) {
  const Call call = calls_.ema_list();
  Call faulty = call;
  faulty.inputs["gradScaleOptional"][0] = array_of(ACL_FLOAT, {1}, {1});
  expect_cause(call, results_of(faulty), "gradient-scale");
  faulty.inputs["gradScaleOptional"][0] = array_of(ACL_FLOAT, {1}, {.125});
  expect_cause(call, results_of(faulty), "gradient-scale");
  Call cancelled = call;
  cancelled.inputs["foundInfOptional"][0] = array_of(ACL_FLOAT, {1}, {1});
  expect_cause(cancelled, results_of(call), "found-inf-ignored");
  faulty = call;
  faulty.values.integers["biasCorrection"] = {0};
  expect_cause(call, results_of(faulty), "missing-bias-correction");
}

TEST_P(UpdateCauses, OutputsThatAreNotWritten) {
  for (const Call& call : {calls_.ema(1), calls_.adam_w()}) {
    Tensors stale;
    for (const char* const name : {"varRef", "mRef", "vRef"}) stale[name] = call.inputs.at(name);
    expect_cause(call, stale, "not-written");
    // The tail of a grid that is too small.
    Tensors results = results_of(call);
    std::vector<double> values = values_of(results.at("mRef")[0]);
    const std::vector<double> before = values_of(call.inputs.at("mRef")[0]);
    for (size_t i = values.size() - values.size() % 1024; i < values.size(); ++i) values[i] = before[i];
    results["mRef"][0] = array_of(GetParam().dtype, results["mRef"][0].dims, values);
    expect_cause(call, results, "tail-not-written");
  }
}

INSTANTIATE_TEST_SUITE_P(All, UpdateCauses, testing::ValuesIn(kSettings), [](const auto& entry) {
  return openaclnn_verify::dtype_name(entry.param.dtype) + std::to_string(entry.param.seed);
});

}  // namespace
}  // namespace openaclnn_test
