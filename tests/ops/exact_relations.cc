// The relations of sums and tables that hold bit for bit: permuting, neighbours, powers of two, sums in pieces.
#include <cmath>

#include "ops/operator_calls.h"
#include "ops/relations.h"

namespace openaclnn_test {

Comparisons& comparisons() {
  static Comparisons made;
  return made;
}

namespace calls {
namespace {

std::vector<int64_t> any_sizes(Draw& draw, int64_t most_parts, int64_t most) {
  std::vector<int64_t> sizes = draw.sizes(draw.below(most_parts), most);
  sizes.push_back(draw.between(1, most));
  return sizes;
}

// At least one part, ascending or in any order.
std::vector<int64_t> any_parts(Draw& draw, Random& data, size_t count) {
  std::vector<int64_t> order = random_order(data, static_cast<int64_t>(count));
  order.resize(static_cast<size_t>(draw.between(1, static_cast<int64_t>(count))));
  return order;
}

// The last sequence has a window.
Windows any_windows(Draw& draw) {
  Windows w = {draw.sizes(draw.below(4), 40), draw.between(1, 20), 1};
  w.step = draw.between(1, w.block + 2);  // most tokens are in a window
  w.lengths.push_back(w.block + draw.below(30));
  return w;
}

void groups_of_the_bias_gradient_are_independent(Draw& draw, Random& data) {
  const std::vector<int64_t> sizes = any_sizes(draw, 9, many(draw, 60, 1500));
  const int64_t rows = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  const HostTensor grad = random_tensor(data, any_dtype(draw), {rows, draw.between(1, 70)});
  const HostTensor all = bias_grad(grad, sizes);
  // Selects some of the groups, in another order: their rows and results move with them.
  const std::vector<int64_t> parts = any_parts(draw, data, sizes.size());
  const HostTensor some = bias_grad(gather(grad, 0, members(sizes, parts)), choose(sizes, parts));
  expect_same(some, gather(all, 0, parts));
}

void rows_of_the_table_are_independent(Draw& draw, Random& data) {
  const aclDataType dtype = any_dtype(draw);
  const int64_t rows = draw.between(1, 60), columns = draw.between(1, 70);
  const int64_t positions = 2 * rows + draw.below(many(draw, 200, 8000));
  const HostTensor indices = random_indices(data, positions, rows);
  const std::vector<int64_t> order = random_order(data, rows);  // new row w is old row order[w]
  HostTensor renamed(ACL_INT64, {positions});
  for (int64_t w = 0; w < rows; ++w) {
    for (int64_t n = 0; n < positions; ++n) {
      if (indices.bits(n) == static_cast<uint64_t>(order[static_cast<size_t>(w)]))
        renamed.set_bits(n, static_cast<uint64_t>(w));
    }
  }
  const HostTensor table = random_tensor(data, dtype, {rows, columns});
  expect_same(embedding(gather(table, 0, order), renamed), embedding(table, indices));
  const HostTensor grad = random_tensor(data, dtype, {positions, columns});
  const bool scale = draw.chance(2);
  expect_same(embedding_backward(grad, renamed, rows, scale),
              gather(embedding_backward(grad, indices, rows, scale), 0, order));
}

void positions_of_other_rows_change_nothing(Draw& draw, Random& data) {
  const aclDataType dtype = any_dtype(draw);
  const int64_t rows = draw.between(1, 20), columns = draw.between(1, 40);
  const int64_t positions = 2 * rows + draw.below(many(draw, 200, 8000));
  const HostTensor indices = random_indices(data, positions, rows);
  const HostTensor grad = random_tensor(data, dtype, {positions, columns});
  const HostTensor table = random_tensor(data, dtype, {rows, columns});
  // Keeps the positions of one row.
  const auto row = static_cast<int64_t>(indices.bits(draw.below(positions)));
  std::vector<int64_t> kept;
  for (int64_t n = 0; n < positions; ++n) {
    if (indices.bits(n) == static_cast<uint64_t>(row)) kept.push_back(n);
  }
  const HostTensor own = gather(indices, 0, kept);
  expect_same(embedding(table, own), gather(embedding(table, indices), 0, kept));
  const bool scale = draw.chance(2);
  expect_same(gather(embedding_backward(gather(grad, 0, kept), own, rows, scale), 0, {row}),
              gather(embedding_backward(grad, indices, rows, scale), 0, {row}));
}

void heads_of_compression_are_independent(Draw& draw, Random& data) {
  const aclDataType dtype = any_dtype(draw);
  const Windows w = any_windows(draw);
  const int64_t heads = draw.between(1, 7), width = draw.between(1, 40);
  const HostTensor input = random_tensor(data, dtype, {w.tokens(), heads, width});
  const HostTensor weight = random_tensor(data, dtype, {w.block, heads});
  const HostTensor output_grad = random_tensor(data, dtype, {w.count(), heads, width});
  const std::vector<int64_t> parts = any_parts(draw, data, static_cast<size_t>(heads));
  const auto some = [&](const HostTensor& tensor) { return gather(tensor, 1, parts); };
  expect_same(nsa_compress(some(input), some(weight), w), some(nsa_compress(input, weight, w)));
  const NsaGradients all = nsa_compress_grad(output_grad, input, weight, w);
  const NsaGradients own = nsa_compress_grad(some(output_grad), some(input), some(weight), w);
  expect_same(own.input, some(all.input));
  expect_same(own.weight, some(all.weight));
}

// The gradient of the weights is a sum over all sequences, so only the other results are tested.
void sequences_of_compression_are_independent(Draw& draw, Random& data) {
  const aclDataType dtype = any_dtype(draw);
  const Windows w = any_windows(draw);
  const int64_t heads = draw.between(1, 4), width = draw.between(1, 40);
  const HostTensor input = random_tensor(data, dtype, {w.tokens(), heads, width});
  const HostTensor weight = random_tensor(data, dtype, {w.block, heads});
  const HostTensor output_grad = random_tensor(data, dtype, {w.count(), heads, width});
  std::vector<int64_t> parts = any_parts(draw, data, w.lengths.size());
  parts.push_back(static_cast<int64_t>(w.lengths.size()) - 1);  // has a window
  const Windows own = {choose(w.lengths, parts), w.block, w.step};
  std::vector<int64_t> windows;
  for (const int64_t length : w.lengths) windows.push_back(w.of(length));
  const auto tokens_of = [&](const HostTensor& t) { return gather(t, 0, members(w.lengths, parts)); };
  const auto windows_of = [&](const HostTensor& t) { return gather(t, 0, members(windows, parts)); };
  expect_same(nsa_compress(tokens_of(input), weight, own), windows_of(nsa_compress(input, weight, w)));
  expect_same(nsa_compress_grad(windows_of(output_grad), tokens_of(input), weight, own).input,
              tokens_of(nsa_compress_grad(output_grad, input, weight, w).input));
}

HostTensor numbers(const Shape& dims, const std::vector<int64_t>& values) {
  HostTensor tensor(ACL_INT32, dims);
  for (int64_t i = 0; i < tensor.numel(); ++i)
    tensor.set(i, static_cast<double>(values[static_cast<size_t>(i)]));
  return tensor;
}

// The last window of each sequence that ends with one goes into the cache, even if the tokens are in pages
// in any order.
void newest_windows_go_into_the_cache(Draw& draw, Random& data) {
  const aclDataType dtype = any_dtype(draw);
  const Windows w = any_windows(draw);
  const int64_t heads = draw.between(1, 4), width = draw.between(1, 40), row = heads * width;
  const HostTensor input = random_tensor(data, dtype, {w.tokens(), heads, width});
  const HostTensor weight = random_tensor(data, dtype, {w.block, heads});
  const HostTensor windows = nsa_compress(input, weight, w);
  const auto sequences = static_cast<int64_t>(w.lengths.size());
  const int64_t page = draw.between(1, 9), pages = *std::ranges::max_element(w.lengths) / page + 1;
  const std::vector<int64_t> slots = random_order(data, sequences + 2);
  const std::vector<int64_t> table = random_order(data, sequences * pages);
  const HostTensor cache = random_tensor(data, dtype, {sequences + 2, heads, width});
  HostTensor wanted = cache.copy(Layout::contiguous);
  std::vector<int64_t> token_at(
      static_cast<size_t>(sequences * pages * page));  // an entry of the pages; unused ones repeat token 0
  int64_t token = 0, window = 0;
  for (int64_t b = 0; b < sequences; ++b) {
    const int64_t length = w.lengths[static_cast<size_t>(b)];
    for (int64_t t = 0; t < length; ++t) {
      const int64_t place = table[static_cast<size_t>(b * pages + t / page)] * page + t % page;
      token_at[static_cast<size_t>(place)] = token++;
    }
    window += w.of(length);
    if (!openaclnn::ends_window(length, {w.block, w.step})) continue;
    for (int64_t i = 0; i < row; ++i)
      wanted.set_bits(slots[static_cast<size_t>(b)] * row + i, windows.bits((window - 1) * row + i));
  }
  const HostTensor slot_mapping = numbers({sequences}, slots),
                   block_table = numbers({sequences, pages}, table);
  const HostTensor places = gather(input, 0, token_at);
  const HostTensor paged(dtype, {sequences * pages, page, heads, width}, View{{page * row, row, width, 1}, 0},
                         places, places.data());
  const HostTensor other = cache.copy(Layout::contiguous);
  nsa_compress_with_cache(input, weight, slot_mapping, nullptr, w, cache);
  nsa_compress_with_cache(paged, weight, slot_mapping, &block_table, w, other);
  expect_same(cache, wanted);
  expect_same(other, wanted);
}

// Tokens after the last sequence belong to no window.
void tokens_of_no_sequence_change_nothing(Draw& draw, Random& data) {
  const aclDataType dtype = any_dtype(draw);
  const Windows w = any_windows(draw);
  const int64_t heads = draw.between(1, 4), width = draw.between(1, 40);
  const HostTensor longer = random_tensor(data, dtype, {w.tokens() + 37, heads, width});
  std::vector<int64_t> tokens(static_cast<size_t>(w.tokens()));
  std::iota(tokens.begin(), tokens.end(), int64_t{0});
  const HostTensor input = gather(longer, 0, tokens);
  const HostTensor weight = random_tensor(data, dtype, {w.block, heads});
  const HostTensor output_grad = random_tensor(data, dtype, {w.count(), heads, width});
  expect_same(nsa_compress(longer, weight, w), nsa_compress(input, weight, w));
  const NsaGradients all = nsa_compress_grad(output_grad, longer, weight, w);
  const NsaGradients own = nsa_compress_grad(output_grad, input, weight, w);
  expect_same(gather(all.input, 0, tokens), own.input);
  expect_same(all.weight, own.weight);
  for (int64_t i = own.input.numel(); i < all.input.numel(); ++i) ASSERT_EQ(all.input.bits(i), 0u);
}

// Within the normal range a power of two commutes with every rounding. FLOAT16 has too small a range for
// sums that cancel.
struct PowerOfTwo {
  explicit PowerOfTwo(Draw& draw)
      : dtype(draw.chance(2) ? ACL_BF16 : ACL_FLOAT), exponent(static_cast<int>(draw.between(-40, 40))) {}
  HostTensor operator()(const HostTensor& tensor) const {
    return map(tensor, [this](double value) { return std::ldexp(value, exponent); });
  }
  aclDataType dtype;
  int exponent;
};

void powers_of_two_pass_through_bias_gradients(Draw& draw, Random& data) {
  const PowerOfTwo scaled(draw);
  const std::vector<int64_t> sizes = any_sizes(draw, 5, many(draw, 90, 700));
  const int64_t rows = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  const HostTensor bias = random_tensor(data, scaled.dtype, {rows, draw.between(1, 40)});
  expect_same(bias_grad(scaled(bias), sizes), scaled(bias_grad(bias, sizes)));
}

void powers_of_two_pass_through_table_gradients(Draw& draw, Random& data) {
  const PowerOfTwo scaled(draw);
  const int64_t rows = draw.between(1, 30), positions = many(draw, 100, 900);
  const HostTensor grad = random_tensor(data, scaled.dtype, {positions, draw.between(1, 40)});
  const HostTensor indices = random_indices(data, positions, rows);
  for (const bool scale : {false, true}) {
    expect_same(embedding_backward(scaled(grad), indices, rows, scale),
                scaled(embedding_backward(grad, indices, rows, scale)));
  }
}

void powers_of_two_pass_through_compression(Draw& draw, Random& data) {
  const PowerOfTwo scaled(draw);
  const aclDataType dtype = scaled.dtype;
  const int64_t columns = draw.between(1, 40);
  const Windows w = any_windows(draw);
  const HostTensor input = random_tensor(data, dtype, {w.tokens(), 2, columns});
  const HostTensor weight = random_tensor(data, dtype, {w.block, 2});
  const HostTensor output_grad = random_tensor(data, dtype, {w.count(), 2, columns});
  const HostTensor output = scaled(nsa_compress(input, weight, w));
  expect_same(nsa_compress(scaled(input), weight, w), output);
  expect_same(nsa_compress(input, scaled(weight), w), output);
  const NsaGradients plain = nsa_compress_grad(output_grad, input, weight, w);
  const NsaGradients by_grad = nsa_compress_grad(scaled(output_grad), input, weight, w);
  const NsaGradients by_input = nsa_compress_grad(output_grad, scaled(input), weight, w);
  const NsaGradients by_weight = nsa_compress_grad(output_grad, input, scaled(weight), w);
  expect_same(by_grad.input, scaled(plain.input));
  expect_same(by_grad.weight, scaled(plain.weight));
  expect_same(by_input.input, plain.input);
  expect_same(by_input.weight, scaled(plain.weight));
  expect_same(by_weight.input, scaled(plain.input));
  expect_same(by_weight.weight, plain.weight);
}

// ---- sums in pieces ----

// Whole numbers this small add up exactly in any order, so pieces can be added outside the library.
HostTensor whole_tensor(Random& data, aclDataType dtype, const Shape& dims) {
  HostTensor tensor(dtype, dims);
  for (int64_t i = 0; i < tensor.numel(); ++i) tensor.set(i, static_cast<double>(data.between(1, 2)));
  return tensor;
}

HostTensor sum(const HostTensor& a, const HostTensor& b) {
  HostTensor made(a.dtype(), a.dims());
  for (int64_t i = 0; i < made.numel(); ++i) made.set(i, a.get(i) + b.get(i));
  return made;
}

std::vector<int64_t> range(int64_t begin, int64_t end) {
  std::vector<int64_t> numbers(static_cast<size_t>(end - begin));
  std::iota(numbers.begin(), numbers.end(), begin);
  return numbers;
}

void table_gradients_add_up_over_pieces(Draw& draw, Random& data) {
  const int64_t rows = draw.between(1, 20), positions = 2 * rows + draw.below(60);
  const HostTensor grad = whole_tensor(data, any_dtype(draw), {positions, draw.between(1, 40)});
  const HostTensor indices = random_indices(data, positions, rows);
  const int64_t cut = draw.below(positions);
  const auto part = [&](int64_t begin, int64_t end) {
    const std::vector<int64_t> picks = range(begin, end);
    return embedding_backward(gather(grad, 0, picks), gather(indices, 0, picks), rows);
  };
  expect_same(sum(part(0, cut), part(cut, positions)), embedding_backward(grad, indices, rows));
}

void bias_gradients_add_up_over_pieces(Draw& draw, Random& data) {
  const int64_t rows = draw.between(1, 100), cut = draw.below(rows);
  const HostTensor grad = whole_tensor(data, any_dtype(draw), {rows, draw.between(1, 40)});
  const auto part = [&](int64_t begin, int64_t end) {
    return bias_grad(gather(grad, 0, range(begin, end)), {end - begin});
  };
  expect_same(sum(part(0, cut), part(cut, rows)), part(0, rows));
}

// The gradient of the weights is a sum over sequences. BF16 keeps whole numbers to 256 only.
void weight_gradients_add_up_over_sequences(Draw& draw, Random& data) {
  const aclDataType dtype = ACL_FLOAT;
  const Windows w = any_windows(draw);
  const int64_t heads = draw.between(1, 3), width = draw.between(1, 20);
  const HostTensor input = whole_tensor(data, dtype, {w.tokens(), heads, width});
  const HostTensor weight = whole_tensor(data, dtype, {w.block, heads});
  const HostTensor output_grad = whole_tensor(data, dtype, {w.count(), heads, width});
  const auto part = [&](size_t first, size_t count) {
    const auto at = w.lengths.begin() + static_cast<std::ptrdiff_t>(first);
    const Windows own = {{at, at + static_cast<std::ptrdiff_t>(count)}, w.block, w.step};
    const Windows before = {{w.lengths.begin(), at}, w.block, w.step};
    const HostTensor own_grad = gather(output_grad, 0, range(before.count(), before.count() + own.count()));
    const HostTensor own_input = gather(input, 0, range(before.tokens(), before.tokens() + own.tokens()));
    return nsa_compress_grad(own_grad, own_input, weight, own).weight;
  };
  HostTensor added = part(0, 1);
  for (size_t k = 1; k < w.lengths.size(); ++k) added = sum(added, part(k, 1));
  expect_same(added, part(0, w.lengths.size()));
}

constexpr Relation kRelations[] = {
    {"groups_of_the_bias_gradient_are_independent", groups_of_the_bias_gradient_are_independent},
    {"rows_of_the_table_are_independent", rows_of_the_table_are_independent},
    {"positions_of_other_rows_change_nothing", positions_of_other_rows_change_nothing},
    {"heads_of_compression_are_independent", heads_of_compression_are_independent},
    {"sequences_of_compression_are_independent", sequences_of_compression_are_independent},
    {"newest_windows_go_into_the_cache", newest_windows_go_into_the_cache},
    {"tokens_of_no_sequence_change_nothing", tokens_of_no_sequence_change_nothing},
    {"powers_of_two_pass_through_bias_gradients", powers_of_two_pass_through_bias_gradients},
    {"powers_of_two_pass_through_table_gradients", powers_of_two_pass_through_table_gradients},
    {"powers_of_two_pass_through_compression", powers_of_two_pass_through_compression},
    {"table_gradients_add_up_over_pieces", table_gradients_add_up_over_pieces},
    {"bias_gradients_add_up_over_pieces", bias_gradients_add_up_over_pieces},
    {"weight_gradients_add_up_over_sequences", weight_gradients_add_up_over_sequences},
};

}  // namespace
}  // namespace calls

std::span<const Relation> exact_relations() { return calls::kRelations; }

}  // namespace openaclnn_test
