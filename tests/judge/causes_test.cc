// Planted faults of any operator's results, results without a fault, and random errors, which have no cause.
#include "judge/causes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "judge/planted.h"
#include "judge/spacing.h"
#include "verify/room_cases.h"

namespace openaclnn_test {
namespace {

using openaclnn_judge::judge_call;
using openaclnn_judge::Pair;
using openaclnn_judge::Spacing;
using openaclnn_verify::round_to;

class ResultCauses : public testing::TestWithParam<Setting> {
 protected:
  Calls calls_ = Calls(GetParam());
  bool is_16_bit() const { return GetParam().dtype != ACL_FLOAT; }
};

struct Result {
  Call call;
  std::string name;
};

std::vector<Result> all_results(Calls& calls) {
  const Call grad = calls.compress_grad();
  return {{calls.bias(), "out"},
          {calls.backward(), "out"},
          {calls.compress(), "output"},
          {grad, "inputGradOut"},
          {calls.ema(1), "mRef"},
          {calls.adam_w(), "varRef"},
          {calls.cache(true), "outputCache"}};
}

TEST_P(ResultCauses, DirectionsOfRounding) {
  if (!is_16_bit()) return;  // the bounds of FLOAT results are larger than an ulp
  const Spacing spacing(GetParam().dtype);
  for (const Result& result : all_results(calls_)) {
    const auto rounded = [&](const std::function<bool(double)>& is_away) {
      return results_with(result.call, result.name, [&](int64_t, double exact) {
        const double below = spacing.truncate(exact);
        if (below == exact || !is_away(exact)) return below;
        return below + std::copysign(spacing.ulp(below), exact);
      });
    };
    expect_cause(result.call, rounded([](double) { return false; }), "truncated");
    expect_cause(result.call, rounded([](double) { return true; }), "rounded-away");
    expect_cause(result.call, rounded([](double exact) { return exact > 0; }), "rounded-up");
    expect_cause(result.call, rounded([](double exact) { return exact < 0; }), "rounded-down");
  }
}

TEST_P(ResultCauses, FloatResultsOf16Bits) {
  if (is_16_bit()) return;
  for (const Result& result : all_results(calls_)) {
    for (const aclDataType narrow : {ACL_FLOAT16, ACL_BF16}) {
      expect_cause(result.call,
                   results_with(result.call, result.name,
                                [&](int64_t, double exact) { return round_to(narrow, exact); }),
                   "result-rounded-to-16-bits");
    }
  }
}

TEST_P(ResultCauses, ResultsAtOtherPlaces) {
  for (const Result& result : {Result{calls_.bias(), "out"}, Result{calls_.backward(), "out"},
                               Result{calls_.compress(), "output"}, Result{calls_.ema(1), "mRef"}}) {
    const Tensors right = results_of(result.call);
    const Array array = right.at(result.name)[0];
    const std::vector<double> values = values_of(array);
    const auto from = [&](const std::function<int64_t(int64_t)>& element) {
      return results_with(result.call, result.name, [&](int64_t i, double) {
        const int64_t other = element(i);
        return 0 <= other && other < array.numel() ? values[static_cast<size_t>(other)] : 0;
      });
    };
    // The last two dims are stored in the other order.
    const int64_t columns = array.dims.back(), rows = array.dims[array.dims.size() - 2];
    expect_cause(result.call, from([&](int64_t i) {
                   const int64_t at = i % (rows * columns);
                   return i - at + at % rows * columns + at / rows;
                 }),
                 "output-transposed");
    expect_cause(result.call, from([&](int64_t i) { return i - i % columns + columns - 1 - i % columns; }),
                 "columns-reversed");
    expect_cause(result.call, from([](int64_t i) { return i + 1; }), "elements-shifted-by-one");
    const int64_t all_rows = array.numel() / columns;
    int64_t factor = 7;
    while (std::gcd(factor, all_rows) != 1) ++factor;
    expect_cause(result.call, from([&](int64_t i) {
                   return (i / columns * factor + 3) % all_rows * columns + i % columns;
                 }),
                 "rows-permuted");
  }
}

TEST_P(ResultCauses, ResultsThatAreNotWritten) {
  for (const Result& result : all_results(calls_)) {
    const Array array = results_of(result.call).at(result.name)[0];
    const int64_t tail = array.numel() * 7 / 8;
    expect_cause(result.call,
                 results_with(result.call, result.name,
                              [&](int64_t i, double exact) { return i < tail ? exact : -7; }),
                 "tail-not-written");
    expect_cause(result.call, results_with(result.call, result.name, [](int64_t, double) { return 0; }),
                 "not-written");
  }
}

TEST_P(ResultCauses, Factors) {
  for (const Result& result : all_results(calls_)) {
    const auto scaled = [&](double factor) {
      return results_with(result.call, result.name, [&](int64_t, double exact) { return factor * exact; });
    };
    expect_cause(result.call, scaled(-1), "sign-flipped");
    expect_cause(result.call, scaled(2), "counted-twice");
    expect_cause(result.call, scaled(1.7), "scaled-by-constant");
  }
}

TEST_P(ResultCauses, SpecialValues) {
  const Spacing spacing(GetParam().dtype);
  // The gradients of some groups leave the range, are NaN, or are subnormal.
  const auto with_gradients = [&](double factor) {
    Call call = calls_.bias();
    change_input(call, "gradY", [factor](int64_t i, const std::vector<double>& before) {
      return before[static_cast<size_t>(i)] * factor;
    });
    return call;
  };
  const Call small = with_gradients(spacing.smallest_normal() * 0x1p-6);
  expect_cause(small,
               results_with(small, "out",
                            [&](int64_t, double exact) {
                              return std::fabs(exact) < spacing.smallest_normal() ? 0 : exact;
                            }),
               "subnormals-flushed");
  if (!is_16_bit()) {
    Call flushed = with_gradients(0x1p-126 * .5);
    change_input(flushed, "gradY", [](int64_t, const std::vector<double>& before) { return before[0]; });
    const Call tiny = with_gradients(0x1p-126 * .75);
    flushed = tiny;
    change_input(flushed, "gradY", [](int64_t i, const std::vector<double>& before) {
      const double value = before[static_cast<size_t>(i)];
      return std::fabs(value) < 0x1p-126 ? 0 : value;
    });
    expect_cause(tiny, results_of(flushed), "subnormal-inputs-flushed");
  }
  Call large = calls_.bias();
  change_input(large, "gradY", [&](int64_t i, const std::vector<double>& before) {
    const double value = before[static_cast<size_t>(i)];
    return i % 2 == 0 ? std::fabs(value) * spacing.largest() / 64 : value;
  });
  // Bounds accept the largest finite number there, so the pair has none.
  const openaclnn_verify::ZeroedDoubles large_sums = golden_of(large, 1).outputs.at(0).exact;
  std::vector<double> saturated;
  for (const double value : large_sums)
    saturated.push_back(std::clamp(value, -spacing.largest(), spacing.largest()));
  const Shape dims = {static_cast<int64_t>(large_sums.size())};
  const Pair pair = {"out",
                     array_of(GetParam().dtype, dims, saturated),
                     openaclnn_verify::array_of_doubles(dims, large_sums),
                     {},
                     {}};
  const std::vector<openaclnn_judge::Cause> causes = likely_causes(nullptr, pair, 1);
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes[0].name, "saturated");
  Call undefined = calls_.bias();
  const int64_t columns = undefined.inputs.at("gradY")[0].dims[1];
  change_input(undefined, "gradY", [&](int64_t i, const std::vector<double>& before) {
    return i / columns % 100 == 50 && i % 2 == 0 ? std::nan("") : before[static_cast<size_t>(i)];
  });
  expect_cause(
      undefined,
      results_with(undefined, "out", [](int64_t, double exact) { return std::isnan(exact) ? 1 : exact; }),
      "nan-not-propagated");
  const Call call = calls_.bias();
  expect_cause(call,
               results_with(call, "out",
                            [](int64_t i, double exact) {
                              return i % 9 == 0 ? std::numeric_limits<double>::infinity() : exact;
                            }),
               "not-finite");
}

INSTANTIATE_TEST_SUITE_P(All, ResultCauses, testing::ValuesIn(kSettings), [](const auto& entry) {
  return openaclnn_verify::dtype_name(entry.param.dtype) + std::to_string(entry.param.seed);
});

// ---- No cause ----

Call random_call(Calls& calls) {
  switch (calls.random().below(8)) {
    case 0: return calls.bias();
    case 1: return calls.backward();
    case 2: return calls.compress();
    case 3: return calls.compress_grad();
    case 4: return calls.cache(calls.random().chance(2));
    case 5: return calls.embedding();
    case 6: return calls.ema(calls.random().below(2));
    default: return calls.adam_w();
  }
}

TEST(NoCause, OfCorrectResults) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Calls calls({kSettings[seed % 3].dtype, seed});
    Call call = random_call(calls);
    call.results = run_here(call).results;
    for (const openaclnn_judge::OutputReport& output : judge_call(call, {}).outputs) {
      EXPECT_EQ(output.wrong, 0) << call.label << " " << output.name;
      EXPECT_TRUE(output.causes.empty()) << output.causes[0].name;
    }
    // Without bounds, every result that is not the rounded exact one counts as wrong.
    for (openaclnn_verify::GoldenOutput& output : golden_of(call, 1).outputs) {
      const Array& device = call.results.at(output.parameter)[0];
      const Pair pair = {
          output.parameter, device, openaclnn_verify::array_of_doubles(output.dims, output.exact), {}, {}};
      for (const openaclnn_judge::Cause& cause : likely_causes(nullptr, pair, 1))
        ADD_FAILURE() << call.label << " " << output.parameter << ": " << cause.name << " " << cause.text;
    }
  }
}

// Errors of one bit at one to three elements.
TEST(NoCause, OfRandomErrors) {
  int64_t wrong = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Calls calls({kSettings[seed % 3].dtype, seed});
    Call call = random_call(calls);
    const Tensors right = run_here(call).results;
    for (int trial = 0; trial < 4; ++trial) {
      call.results = right;
      const int64_t errors = calls.random().between(1, 3);
      for (auto& [name, arrays] : call.results) {
        Array& array = arrays[0];
        const auto size = static_cast<size_t>(openaclnn_verify::element_bytes(array.dtype));
        std::vector<std::byte> bytes(array.data.get(), array.data.get() + array.bytes());
        for (int64_t k = 0; k < errors; ++k) {
          const int64_t bit = calls.random().below(array.bytes() * 8);
          bytes[static_cast<size_t>(bit / 8)] ^= static_cast<std::byte>(1 << (bit % 8));
        }
        array = openaclnn_verify::owned_array(array.dtype, array.dims, bytes);
        EXPECT_LE(size, 4u);
      }
      for (const openaclnn_judge::OutputReport& output : judge_call(call, {}).outputs) {
        wrong += output.wrong;
        EXPECT_TRUE(output.causes.empty())
            << call.label << " " << output.name << ": " << output.causes[0].name << ", " << output.wrong;
      }
    }
  }
  EXPECT_GT(wrong, 200);
}

// Other orders of additions in FLOAT, whose errors the bound allows.
TEST(NoCause, OfOtherOrdersWithinTheBound) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    Calls calls({kSettings[seed % 3].dtype, seed});
    const Call call = calls.bias();
    const std::vector<double> grad = values_of(call.inputs.at("gradY")[0]),
                              ends = values_of(call.inputs.at("groupIdxOptional")[0]);
    const int64_t columns = call.inputs.at("gradY")[0].dims[1];
    const Tensors results = results_with(call, "out", [&](int64_t i, double) {
      const auto j = static_cast<size_t>(i / columns);
      float sum = 0;
      for (double row = ends[j] - 1; row >= (j == 0 ? 0 : ends[j - 1]); --row)
        sum += static_cast<float>(
            grad[static_cast<size_t>(row) * static_cast<size_t>(columns) + static_cast<size_t>(i % columns)]);
      return static_cast<double>(sum);
    });
    Call judged = call;
    judged.results = results;
    EXPECT_EQ(judge_call(judged, {}).outputs.at(0).wrong, 0);
    expect_no_cause(call, results);
  }
}

}  // namespace
}  // namespace openaclnn_test
