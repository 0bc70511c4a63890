// Planted faults of sums: missing and repeated terms, orders of additions and roundings, and the causes that the judge names.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "judge/planted.h"
#include "judge/sources.h"
#include "judge/spacing.h"

namespace openaclnn_test {
namespace {

using openaclnn_judge::PreparedCall;
using openaclnn_verify::Term;

class SumCauses : public testing::TestWithParam<Setting> {
 protected:
  Calls calls_ = Calls(GetParam());
};

// One result of a call that consists of sums.
struct Summed {
  Call call;
  std::string result;
};

std::vector<Summed> all_sums(Calls& calls) {
  const Call grad = calls.compress_grad();
  return {{calls.bias(), "out"},
          {calls.backward(), "out"},
          {calls.compress(), "output"},
          {grad, "weightGradOut"},
          {grad, "inputGradOut"}};
}

// The results of a kernel that adds the terms in its own way.
Tensors added_by(const Summed& summed, const std::function<double(const std::vector<Term>&)>& add) {
  const PreparedCall prepared(summed.call);
  const openaclnn_verify::FindSources find = prepared.sources();
  return results_with(summed.call, summed.result, [&](int64_t element, double) {
    const openaclnn_verify::ElementSources sources = find({summed.result, 0, element});
    return add(sources.terms) / sources.divisor;
  });
}

double round_to(aclDataType dtype, double value) { return openaclnn_judge::Spacing(dtype).round(value); }
double product(const Term& term) { return term.one * term.other; }
double exact_sum(const std::vector<Term>& terms) {
  double sum = 0;
  for (const Term& term : terms) sum += product(term);
  return sum;
}

TEST_P(SumCauses, AccumulationIn16Bits) {
  for (const Summed& summed : all_sums(calls_)) {
    if (summed.result == "inputGradOut") continue;  // 1 or 2 terms
    for (const aclDataType narrow : {ACL_FLOAT16, ACL_BF16}) {
      expect_cause(summed.call,
                   added_by(summed,
                            [&](const std::vector<Term>& terms) {
                              double sum = 0;
                              for (const Term& term : terms)
                                sum = round_to(narrow, sum + round_to(narrow, product(term)));
                              return sum;
                            }),
                   "16-bit-accumulation");
      constexpr size_t kLanes = 8;
      expect_cause(summed.call,
                   added_by(summed,
                            [&](const std::vector<Term>& terms) {
                              std::vector<double> sums(kLanes);
                              for (size_t k = 0; k < terms.size(); ++k) {
                                double& sum = sums[k % kLanes];
                                sum = round_to(narrow, sum + product(terms[k]));
                              }
                              for (size_t half = kLanes / 2; half > 0; half /= 2) {
                                for (size_t k = 0; k < half; ++k)
                                  sums[k] = round_to(narrow, sums[k] + sums[k + half]);
                              }
                              return sums[0];
                            }),
                   "16-bit-accumulation");
    }
  }
}

TEST_P(SumCauses, ProductsIn16Bits) {
  for (const Summed& summed : all_sums(calls_)) {
    if (summed.result == "out") continue;  // no products
    if (GetParam().dtype != ACL_FLOAT) continue;
    for (const aclDataType narrow : {ACL_FLOAT16, ACL_BF16}) {
      expect_cause(summed.call,
                   added_by(summed,
                            [&](const std::vector<Term>& terms) {
                              double sum = 0;
                              for (const Term& term : terms) sum += round_to(narrow, product(term));
                              return sum;
                            }),
                   "products-rounded");
      expect_cause(summed.call,
                   added_by(summed,
                            [&](const std::vector<Term>& terms) {
                              double sum = 0;
                              for (const Term& term : terms)
                                sum += round_to(narrow, term.one) * round_to(narrow, term.other);
                              return sum;
                            }),
                   narrow == ACL_BF16 ? "inputs-rounded" : "inputs-rounded");
    }
  }
}

TEST_P(SumCauses, MissingAndRepeatedTerms) {
  for (const Summed& summed : all_sums(calls_)) {
    const auto changed = [&](const std::function<void(std::vector<Term>&)>& change) {
      return added_by(summed, [&](std::vector<Term> terms) {
        if (!terms.empty()) change(terms);
        return exact_sum(terms);
      });
    };
    if (summed.result == "inputGradOut") continue;  // 1 or 2 terms
    expect_cause(summed.call, changed([](auto& terms) { terms.push_back(terms.back()); }), "last-term-twice");
    expect_cause(summed.call, changed([](auto& terms) { terms.push_back(terms.front()); }),
                 "first-term-twice");
    expect_cause(summed.call, changed([](auto& terms) { terms = {terms.back()}; }), "terms-overwrite");
    expect_cause(summed.call, changed([](auto& terms) {
                   const double count = static_cast<double>(terms.size());
                   for (Term& term : terms) term.one /= count;
                 }),
                 summed.call.label == "aclnnEmbeddingDenseBackward" ? "frequency-scaling-applied"
                                                                    : "mean-instead-of-sum");
    expect_cause(summed.call, changed([](auto& terms) {
                   for (Term& term : terms) term.one *= 2;
                 }),
                 "counted-twice");
  }
}

TEST_P(SumCauses, RemaindersOfBlocks) {
  for (const Summed& summed : {Summed{calls_.bias(), "out"}, Summed{calls_.backward(), "out"}}) {
    for (const size_t block : {4, 8}) {
      expect_cause(summed.call,
                   added_by(summed,
                            [&](std::vector<Term> terms) {
                              terms.resize(terms.size() - terms.size() % block);
                              return exact_sum(terms);
                            }),
                   "remainder-not-added");
    }
  }
}

// The terms are added in FLOAT one after another. Equal terms lose the same part at each addition.
TEST(OrderCauses, LongSumsInFloat) {
  for (const uint64_t seed : {1, 2, 3}) {
    Calls calls({ACL_FLOAT, seed});
    Call call = call_of("aclnnGroupedBiasAddGradV2");
    const int64_t rows = calls.random().between(40000, 50000), columns = calls.random().between(3, 5);
    std::vector<double> values;
    for (int64_t k = 0; k < rows * columns; ++k)
      values.push_back(.1 * (1 + static_cast<double>(k % columns)));
    add_input(call, "gradY", array_of(ACL_FLOAT, {rows, columns}, values));
    add_input(call, "groupIdxOptional", array_of(ACL_INT64, {1}, {static_cast<double>(rows)}));
    for (const bool is_backward : {false, true}) {
      expect_cause(call,
                   added_by({call, "out"},
                            [&](std::vector<Term> terms) {
                              if (is_backward) std::ranges::reverse(terms);
                              float sum = 0;
                              for (const Term& term : terms) sum += static_cast<float>(term.one);
                              return static_cast<double>(sum);
                            }),
                   "order-of-additions");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SumCauses, testing::ValuesIn(kSettings), [](const auto& entry) {
  return openaclnn_verify::dtype_name(entry.param.dtype) + std::to_string(entry.param.seed);
});

}  // namespace
}  // namespace openaclnn_test
