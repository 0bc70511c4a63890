// One function per layer, each as short as its formula. The routing term's shares of rows are counted
// and therefore constants.
#include "reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace train {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

// x W + b with W [inputs, outputs] at `weight` and b at `bias`.
Row dense(const Row& x, const double* weight, const double* bias, size_t outputs) {
  Row y(bias, bias + outputs);
  for (size_t o = 0; o < outputs; ++o)
    for (size_t i = 0; i < x.size(); ++i) y[o] += x[i] * weight[i * outputs + o];
  return y;
}

Rows dense(const Rows& x, const ReferenceValues& values, const std::string& name) {
  const Row &weight = values.at(name + ".weight"), &bias = values.at(name + ".bias");
  Rows y;
  for (const Row& row : x) y.push_back(dense(row, weight.data(), bias.data(), bias.size()));
  return y;
}

void gelu(Row& x) {
  for (double& v : x)
    v = v / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v)));
}

void softmax(Row& x) {
  double sum = 0;
  for (double& v : x) sum += v = std::exp(v);
  for (double& v : x) v /= sum;
}

void add(Rows& x, const Rows& y) {
  for (size_t r = 0; r < x.size(); ++r)
    for (size_t i = 0; i < x[r].size(); ++i) x[r][i] += y[r][i];
}

// Element e of head n of the block that begins at row `first`.
double compressed(const Rows& x, const Row& weight, int64_t first, const AttentionShape& shape, int64_t n,
                  int64_t e) {
  double sum = 0;
  for (int64_t i = 0; i < shape.blocks.length; ++i)
    sum += weight[i * shape.heads + n] * x[first + i][n * shape.head_width + e];
  return sum;
}

Rows attention(const Rows& x, const ModelShape& model, const Sequences& sequences,
               const ReferenceValues& values) {
  const AttentionShape& shape = model.attention;
  const Rows queries = dense(x, values, "attention.query"), keys = dense(x, values, "attention.key"),
             rows = dense(x, values, "attention.value");
  const Row &key_weight = values.at("attention.key_compression.weight"),
            &value_weight = values.at("attention.value_compression.weight"),
            &bias = values.at("attention.distance_bias");
  Rows mixed(x.size(), Row(shape.heads * shape.head_width));
  int64_t begin = 0;
  for (const int64_t end : sequences.ends) {
    for (int64_t t = begin; t < end; ++t)
      for (int64_t n = 0; n < shape.heads; ++n) {
        // Everything that row t sees: rows of its window, then blocks that end before it.
        std::vector<Row> seen_keys, seen_values;
        Row scores;
        const auto see = [&](auto key, auto value, int64_t distance) {
          Row k, v;
          double score = 0;
          for (int64_t e = 0; e < shape.head_width; ++e) {
            v.push_back(value(e));
            score += queries[t][n * shape.head_width + e] * key(e);
          }
          seen_values.push_back(v);
          scores.push_back(score / std::sqrt(static_cast<double>(shape.head_width)) +
                           bias[n * (shape.window + shape.far) + distance]);
        };
        for (int64_t s = t; s >= begin && s > t - shape.window; --s)
          see([&](int64_t e) { return keys[s][n * shape.head_width + e]; },
              [&](int64_t e) { return rows[s][n * shape.head_width + e]; }, t - s);
        std::vector<int64_t> firsts;
        for (int64_t first = begin; first + shape.blocks.length <= t; first += shape.blocks.stride)
          firsts.push_back(first);
        for (size_t k = 0; k < firsts.size(); ++k)
          see([&](int64_t e) { return compressed(keys, key_weight, firsts[k], shape, n, e); },
              [&](int64_t e) { return compressed(rows, value_weight, firsts[k], shape, n, e); },
              shape.window + std::min<int64_t>(static_cast<int64_t>(firsts.size() - 1 - k), shape.far - 1));
        softmax(scores);
        for (size_t i = 0; i < scores.size(); ++i)
          for (int64_t e = 0; e < shape.head_width; ++e)
            mixed[t][n * shape.head_width + e] += scores[i] * seen_values[i][e];
      }
    begin = end;
  }
  return dense(mixed, values, "attention.output");
}

struct Mixture {
  Rows output;
  double routing_term = 0;
  double margin = std::numeric_limits<double>::infinity();
};

Mixture mixture(const Rows& x, const ModelShape& shape, const ReferenceValues& values) {
  const Row &first_weight = values.at("mixture.first.weight"), &first_bias = values.at("mixture.first.bias"),
            &second_weight = values.at("mixture.second.weight"),
            &second_bias = values.at("mixture.second.bias");
  Mixture result;
  Row counts(shape.experts), probabilities(shape.experts);
  for (Row router : dense(x, values, "mixture.router")) {
    const auto chosen = std::max_element(router.begin(), router.end()) - router.begin();
    for (int64_t e = 0; e < shape.experts; ++e)
      if (e != chosen) result.margin = std::min(result.margin, router[chosen] - router[e]);
    softmax(router);
    ++counts[chosen];
    for (int64_t e = 0; e < shape.experts; ++e) probabilities[e] += router[e];
    const int64_t weights = shape.width * shape.expert_width;
    Row hidden = dense(x[result.output.size()], &first_weight[chosen * weights],
                       &first_bias[chosen * shape.expert_width], shape.expert_width);
    gelu(hidden);
    Row y = dense(hidden, &second_weight[chosen * weights], &second_bias[chosen * shape.width], shape.width);
    for (double& v : y) v *= router[chosen];
    result.output.push_back(y);
  }
  const auto rows = static_cast<double>(x.size());
  for (int64_t e = 0; e < shape.experts; ++e)
    result.routing_term += MixtureLayer::kBalance * static_cast<double>(shape.experts) * (counts[e] / rows) *
                           (probabilities[e] / rows);
  return result;
}

}  // namespace

ReferenceLoss reference_loss(const ModelShape& shape, const Batch& batch, const ReferenceValues& values) {
  const Row& table = values.at("embedding.table");
  Rows x(batch.targets.size());
  for (size_t r = 0; r < x.size(); ++r)
    for (int64_t i = 0; i < shape.context; ++i) {
      const double* row = &table[batch.contexts[r * shape.context + i] * shape.byte_width];
      x[r].insert(x[r].end(), row, row + shape.byte_width);
    }
  x = dense(x, values, "hidden");
  for (Row& row : x) gelu(row);
  add(x, attention(x, shape, batch.sequences, values));
  const Mixture experts = mixture(x, shape, values);
  add(x, experts.output);
  double loss = 0;
  Rows logits = dense(x, values, "output");
  for (size_t r = 0; r < logits.size(); ++r) {
    softmax(logits[r]);
    loss -= std::log(logits[r][batch.targets[r]]);
  }
  return {loss / static_cast<double>(x.size()) + experts.routing_term, experts.margin};
}

}  // namespace train
