// The settings of ApplyAdamW and two references, based on its README: the formula in long double with its
// error bounds, and the prescribed sequence of single roundings, one element at a time.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "verify/case.h"
#include "verify/number.h"

namespace openaclnn_verify {

// One call of either version. The first takes its hyperparameters as tensors of `dtype`, the second as
// floats.
struct AdamWSetup {
  int version = 2;
  aclDataType dtype = ACL_FLOAT, grad_dtype = ACL_FLOAT, maximum_dtype = ACL_FLOAT;
  bool amsgrad = false, maximize = false;
  double lr = 1e-3, beta1 = .9, beta2 = .99, weight_decay = .01, eps = 1e-8;
  int64_t step = 6;  // steps before this one
  aclDataType step_dtype = ACL_INT64;

  // Positions in the signature if the maximum is NULL without amsgrad.
  size_t maximum_at() const { return version == 1 ? 11 : 3; }
  size_t grad_at() const { return version == 1 ? 10 : amsgrad ? 4 : 3; }
  size_t step_at() const { return grad_at() + 1; }
  bool writes_maximum() const { return amsgrad && version == 2; }
  // Position of the first version's first hyperparameter.
  static constexpr size_t kScalarsAt = 3;
};

inline AdamWSetup adam_w_setup(int version, aclDataType dtype, bool amsgrad = false) {
  AdamWSetup s;
  s.version = version;
  s.dtype = s.grad_dtype = s.maximum_dtype = dtype;
  s.amsgrad = amsgrad;
  if (version == 1 && dtype == ACL_FLOAT16) s.eps = 1e-3;  // 1e-8 is zero in FLOAT16
  return s;
}

// Returns the settings of a recorded call except the dtypes of its tensors.
inline AdamWSetup recorded_adam_w_setup(const RecordedCall& call) {
  AdamWSetup s =
      adam_w_setup(call.tensors.contains("beta1Power") ? 1 : 2, ACL_FLOAT, call.integers.at("amsgrad") != 0);
  s.maximize = call.integers.at("maximize") != 0;
  if (s.version == 2) {
    s.lr = call.reals.at("lr");
    s.beta1 = call.reals.at("beta1");
    s.beta2 = call.reals.at("beta2");
    s.weight_decay = call.reals.at("weightDecay");
    s.eps = call.reals.at("eps");
  }
  return s;
}

// The elements of the formula, and its results; grad is not a result.
enum AdamWElementPart { kAdamVar, kAdamM, kAdamV, kAdamMaximum, kAdamGrad, kAdamParts };
inline constexpr const char* kAdamNames[kAdamGrad] = {"varRef", "mRef", "vRef", "maxGradNormOptionalRef"};

// The tensor that holds a part of the elements.
inline size_t adam_w_position(const AdamWSetup& s, size_t part) {
  return part == kAdamMaximum ? s.maximum_at() : part == kAdamGrad ? s.grad_at() : part;
}
inline bool adam_w_has(const AdamWSetup& s, size_t part) { return part != kAdamMaximum || s.amsgrad; }
inline bool adam_w_writes(const AdamWSetup& s, size_t part) {
  return part < kAdamMaximum || (part == kAdamMaximum && s.writes_maximum());
}
inline aclDataType adam_w_dtype(const AdamWSetup& s, size_t part) {
  return part == kAdamMaximum ? s.maximum_dtype : part == kAdamGrad ? s.grad_dtype : s.dtype;
}

// The hyperparameters of a call, as its tensors hold them.
struct AdamWGiven {
  double lr, beta1, beta2, weight_decay, eps;
  double power1 = 1, power2 = 1;  // first version: beta^(t-1)
  int64_t t = 0;                  // second version
  bool step_is_nan = false;
};
inline AdamWGiven adam_w_given(const AdamWSetup& s, const std::vector<HostTensor>& tensors) {
  if (s.version == 1) {
    const auto scalar = [&](size_t k) { return tensors[AdamWSetup::kScalarsAt + k].get(0); };
    return {scalar(2), scalar(4), scalar(5), scalar(3), scalar(6), scalar(0), scalar(1)};
  }
  const auto single = [](double x) { return static_cast<double>(static_cast<float>(x)); };
  AdamWGiven given = {single(s.lr), single(s.beta1), single(s.beta2), single(s.weight_decay), single(s.eps)};
  const HostTensor& step = tensors[s.step_at()];
  int64_t before = 0;
  if (step.dtype() == ACL_INT64) {
    before = static_cast<int64_t>(step.bits(0));
  } else {
    const double count = step.get(0);
    given.step_is_nan = std::isnan(count);
    before = given.step_is_nan ? 0
             : count >= 0x1p63 ? INT64_MAX
             : count < -0x1p63 ? INT64_MIN
                               : static_cast<int64_t>(count);
  }
  given.t = before == INT64_MAX ? before : before + 1;
  return given;
}

// ---- The formula ----

using AdamWElement = std::array<double, kAdamParts>;

struct AdamWExact {
  std::array<long double, kAdamGrad> value = {};
  std::array<long double, kAdamGrad> magnitude = {};  // S of the bounds
  bool is_covered = true;  // the bounds apply: no product, quotient or root exceeds the range they assume
};

class AdamWExactReference {
 public:
  AdamWExactReference(const AdamWSetup& s, const AdamWGiven& given) : s_(s), x_(given) {
    const auto rest = [&](double beta, double power) -> long double {
      if (s.version == 1) return 1 - static_cast<long double>(power) * beta;
      return -std::expm1(given.t * std::log1p(beta - 1.0L));  // without the cancellation of the subtraction
    };
    rest1_ = rest(given.beta1, given.power1);
    rest2_ = rest(given.beta2, given.power2);
  }

  AdamWExact operator()(const AdamWElement& x) const {
    AdamWExact out;
    const auto keep = [&out](long double y) {
      const long double magnitude = std::fabs(y);
      if (y != 0 && !(magnitude >= 0x1p-126L && magnitude <= 0x1p127L)) out.is_covered = false;
      return y;
    };
    const long double g = s_.maximize ? -x[kAdamGrad] : x[kAdamGrad];
    const long double share = 1.0L - x_.beta1;
    const long double m = x[kAdamM] + keep(share * (g - x[kAdamM]));
    const long double m_magnitude =
        std::fabs(x[kAdamM]) + std::fabs(share) * (std::fabs(g) + std::fabs(x[kAdamM]));

    const long double v_old = keep(static_cast<long double>(x_.beta2) * x[kAdamV]);
    const long double v = v_old + keep((1.0L - x_.beta2) * keep(g * g));
    const long double n = s_.amsgrad && x[kAdamMaximum] > v ? x[kAdamMaximum] : v;

    const long double size = keep(x_.lr / rest1_), scale = keep(1 / std::sqrt(rest2_));
    const long double denominator = keep(keep(std::sqrt(n)) * scale) + x_.eps;
    const long double step = keep(keep(size * m) / denominator);
    const long double decay = static_cast<long double>(x_.lr) * x_.weight_decay;
    const long double var = keep((1 - decay) * x[kAdamVar]) - step;

    out.value = {var, m, s_.amsgrad && s_.version == 1 ? n : v, n};
    out.magnitude = {
        std::fabs(x[kAdamVar]) * (1 + std::fabs(decay)) + std::fabs(size) * m_magnitude / denominator,
        m_magnitude, v, v};
    for (const long double magnitude : out.magnitude)
      out.is_covered = out.is_covered && magnitude <= 0x1p127L;
    out.is_covered = out.is_covered && denominator > 0;
    return out;
  }

 private:
  AdamWSetup s_;
  AdamWGiven x_;
  long double rest1_, rest2_;  // 1 - beta^t
};

// |result - reference| <= ulp(result) / 2 + c * 2^-24 * S, with S from the README's table: c of var, m, v, maximum.
inline constexpr double kAdamWBounds[kAdamGrad] = {17, 5, 5, 5};

inline JudgeResults adam_w_judge(const AdamWSetup& s) {
  return [s](const std::vector<HostTensor>& before, const std::vector<HostTensor>& after, Judge& judge) {
    const AdamWExactReference reference(s, adam_w_given(s, before));
    std::array<OutputRecord*, kAdamGrad> records = {};
    for (size_t part = 0; part < kAdamGrad; ++part) {
      if (!adam_w_writes(s, part)) continue;
      records[part] = &judge.output(std::string("ApplyAdamW ") + kAdamNames[part] + ", version " +
                                        std::to_string(s.version) + (s.amsgrad ? ", amsgrad" : ""),
                                    adam_w_dtype(s, part));
    }
    for (int64_t i = 0; i < after[0].numel(); ++i) {
      AdamWElement x = {};
      for (size_t part = 0; part < kAdamParts; ++part) {
        if (adam_w_has(s, part)) x[part] = before[adam_w_position(s, part)].get(i);
      }
      const AdamWExact exact = reference(x);
      for (size_t part = 0; part < kAdamGrad; ++part) {
        if (records[part] == nullptr) continue;
        if (exact.is_covered) {
          records[part]->compare(after[adam_w_position(s, part)].get(i), exact.value[part],
                                 kAdamWBounds[part], exact.magnitude[part]);
        } else {
          records[part]->skip();
        }
      }
    }
  };
}

// ---- The prescribed bits. One C++ operation on floats is one IEEE operation: the build disables contraction
// ----

class AdamWBitsReference {
 public:
  AdamWBitsReference(const AdamWSetup& s, const AdamWGiven& given) : s_(s) {
    const auto fl = [](double x) { return static_cast<float>(x); };
    const auto power = [&](double beta, double before) {
      if (s.version == 1) return before * beta;
      return given.step_is_nan ? std::nan("") : by_squaring(beta, given.t);
    };
    share_ = fl(1 - given.beta1);
    beta2_ = fl(given.beta2);
    rest2_ = fl(1 - given.beta2);
    decay_ = fl(1 - given.lr * given.weight_decay);
    size_ = fl(given.lr / (1 - power(given.beta1, given.power1)));
    scale_ = fl(1 / std::sqrt(1 - power(given.beta2, given.power2)));
    eps_ = fl(given.eps);
  }

  // Returns the bits of the results from the bits of all parts. Parts that are missing or not written do not
  // change.
  std::array<uint64_t, kAdamParts> operator()(const std::array<uint64_t, kAdamParts>& bits) const {
    std::array<float, kAdamParts> x = {};
    for (size_t part = 0; part < kAdamParts; ++part) {
      if (adam_w_has(s_, part)) x[part] = static_cast<float>(decode(adam_w_dtype(s_, part), bits[part]));
    }
    const auto plus = [](float a, float b) { return a + b; };
    const auto minus = [](float a, float b) { return a - b; };
    const auto times = [](float a, float b) { return a * b; };
    const float g = s_.maximize ? -x[kAdamGrad] : x[kAdamGrad];
    const float m = plus(x[kAdamM], times(minus(g, x[kAdamM]), share_));
    const float v = plus(times(beta2_, x[kAdamV]), times(times(g, g), rest2_));
    float n = v;
    if (s_.amsgrad && (std::isnan(x[kAdamMaximum]) || x[kAdamMaximum] > v)) n = x[kAdamMaximum];
    const float denominator = plus(times(std::sqrt(n), scale_), eps_);
    const float var = minus(times(decay_, x[kAdamVar]), times(size_, m) / denominator);

    std::array<uint64_t, kAdamParts> results = bits;
    const auto store = [&](size_t part, float y) {
      if (adam_w_writes(s_, part)) results[part] = encode(adam_w_dtype(s_, part), static_cast<double>(y));
    };
    store(kAdamVar, var);
    store(kAdamM, m);
    store(kAdamV, s_.amsgrad && s_.version == 1 ? n : v);
    store(kAdamMaximum, n);
    return results;
  }

 private:
  static double by_squaring(double base, int64_t t) {
    const uint64_t n = t < 0 ? ~static_cast<uint64_t>(t) + 1 : static_cast<uint64_t>(t);
    double product = 1;
    for (int bit = 0; bit < static_cast<int>(std::bit_width(n)); ++bit, base *= base) {
      if ((n >> bit & 1) != 0) product *= base;
    }
    return t < 0 ? 1 / product : product;
  }

  AdamWSetup s_;
  float share_, beta2_, rest2_, decay_, size_, scale_, eps_;
};

}  // namespace openaclnn_verify
