// An operator A and the operator of its gradient satisfy <y, A x> = <A' y, x>. Both sides are computed in
// long double from rounded results, so they may differ by at most the promised error bounds.
#include <cmath>

#include "ops/operator_calls.h"
#include "ops/relations.h"
#include "support/verify.h"
#include "verify/number.h"

namespace openaclnn_test {
namespace calls {
namespace {

HostTensor magnitudes(const HostTensor& tensor) {
  return map(tensor, [](double value) { return std::fabs(value); });
}

// <factor, result>, and the largest distance from the exact product that the promise of `result` permits.
// `sums` holds the sums of magnitudes S, which the same operator computed from magnitudes, with small
// errors.
struct Product {
  long double value = 0, slack = 0;
};
Product product(const HostTensor& factor, const HostTensor& result, const HostTensor& sums, long double c) {
  Product made;
  count_comparison(result);
  for (int64_t i = 0; i < result.numel(); ++i) {
    const long double y = result.get(i);
    made.value += factor.get(i) * y;
    made.slack += std::fabs(factor.get(i)) * allowed_error(result.dtype(), y, c, 1.01L * sums.get(i));
  }
  return made;
}

void expect_adjoint(const Product& forward, const Product& backward) {
  ASSERT_TRUE(std::isfinite(forward.value) && std::isfinite(backward.value));
  EXPECT_LE(std::fabs(forward.value - backward.value), forward.slack + backward.slack)
      << "<y, A x> = " << forward.value << ", <A' y, x> = " << backward.value;
}

// Returns c of a sum of any number of terms in the common order of additions.
constexpr long double kOrderedSum = 72;

void adjoint_of_table_look_up(Draw& draw, Random& data) {
  const aclDataType dtype = draw.pick(kFloatDtypes);
  const int64_t rows = draw.between(1, 50), columns = draw.between(1, 40);
  const int64_t positions = 2 * rows + draw.below(draw.is_thorough() ? 900 : 40);
  const HostTensor x = random_tensor(data, dtype, {rows, columns}),
                   y = random_tensor(data, dtype, {positions, columns});
  const HostTensor indices = random_indices(data, positions, rows);
  const HostTensor copied = embedding(x, indices);
  Product forward;  // of copies, which are exact
  for (int64_t i = 0; i < y.numel(); ++i) forward.value += static_cast<long double>(y.get(i)) * copied.get(i);
  expect_adjoint(forward, product(x, embedding_backward(y, indices, rows),
                                  embedding_backward(magnitudes(y), indices, rows), kOrderedSum));
}

// The forward operator adds the bias of its group to each row; without the addend it copies the bias.
void adjoint_of_grouped_bias(Draw& draw, Random& data) {
  const aclDataType dtype = draw.pick(kFloatDtypes);
  std::vector<int64_t> sizes(static_cast<size_t>(draw.between(1, 9)));
  for (int64_t& size : sizes) size = draw.below(draw.is_thorough() ? 300 : 20);
  sizes.front() += 1;
  const int64_t rows = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  const int64_t columns = draw.between(1, 40);
  const HostTensor x = random_tensor(data, dtype, {static_cast<int64_t>(sizes.size()), columns}),
                   y = random_tensor(data, dtype, {rows, columns});
  Product forward;
  int64_t row = 0;
  for (size_t group = 0; group < sizes.size(); ++group) {
    for (const int64_t end = row + sizes[group]; row < end; ++row) {
      for (int64_t c = 0; c < columns; ++c) {
        forward.value += static_cast<long double>(y.get(row * columns + c)) *
                         x.get(static_cast<int64_t>(group) * columns + c);
      }
    }
  }
  expect_adjoint(forward, product(x, bias_grad(y, sizes), bias_grad(magnitudes(y), sizes), kOrderedSum));
}

void adjoint_of_compression(Draw& draw, Random& data) {
  const aclDataType dtype = draw.pick(kFloatDtypes);
  Windows w = {{}, draw.between(1, draw.is_thorough() ? 40 : 12), 1};
  w.step = draw.between(1, w.block + 2);
  for (int64_t b = draw.between(1, 5); b > 0; --b) w.lengths.push_back(draw.below(3 * w.block));
  w.lengths.push_back(w.block + draw.below(60));
  const int64_t heads = draw.between(1, 4), width = draw.between(1, 30);
  const HostTensor input = random_tensor(data, dtype, {w.tokens(), heads, width}),
                   weight = random_tensor(data, dtype, {w.block, heads});
  const HostTensor y = random_tensor(data, dtype, {w.count(), heads, width});
  const HostTensor input_size = magnitudes(input), weight_size = magnitudes(weight);
  const Product forward =
      product(y, nsa_compress(input, weight, w), nsa_compress(input_size, weight_size, w), kOrderedSum + 1);
  const NsaGradients gradients = nsa_compress_grad(y, input, weight, w);
  const NsaGradients sums = nsa_compress_grad(magnitudes(y), input_size, weight_size, w);
  // Linear in the tokens, and linear in the weights.
  const auto windows_of_a_token = static_cast<long double>((w.block + w.step - 1) / w.step);
  expect_adjoint(forward, product(input, gradients.input, sums.input, windows_of_a_token + 1));
  expect_adjoint(forward, product(weight, gradients.weight, sums.weight, 260));
}

constexpr Relation kRelations[] = {{"adjoint_of_table_look_up", adjoint_of_table_look_up},
                                   {"adjoint_of_grouped_bias", adjoint_of_grouped_bias},
                                   {"adjoint_of_compression", adjoint_of_compression}};

}  // namespace
}  // namespace calls

std::span<const Relation> adjoint_relations() { return calls::kRelations; }

}  // namespace openaclnn_test
