// The relations of optimizers that hold bit for bit: splitting, mirroring, versions and lists that agree.
#include <cmath>

#include "ops/operator_calls.h"
#include "ops/relations.h"

namespace openaclnn_test {
namespace calls {
namespace {

void splitting_an_ema_adam_tensor_changes_nothing(Draw& draw, Random& data) {
  const aclDataType dtype = any_dtype(draw);
  const int64_t count = draw.between(1, many(draw, 500, 200000));
  const EmaSettings settings = {.mode = draw.below(2), .bias_correction = draw.chance(2)};
  std::vector<HostTensor> whole, parts;
  for (int k = 0; k < 5; ++k) {
    whole.push_back(random_tensor(data, dtype, {count}));
    if (k == 3) whole[3] = map(whole[3], [](double v) { return std::fabs(v); });
    parts.push_back(whole.back().copy(Layout::contiguous));
  }
  HostTensor step(ACL_INT64, {1});
  step.set_bits(0, static_cast<uint64_t>(draw.between(1, 1000)));
  const auto pointers = [&](const std::vector<HostTensor>& t) {
    return Tensors{&t[0], &t[1], &t[2], &t[3], &t[4], &step};
  };
  ema_adam(pointers(whole), settings);
  for (int64_t first = 0; first < count;) {
    const int64_t length = draw.between(1, std::min(count - first, count / 3 + 1));
    std::vector<HostTensor> pieces;
    for (HostTensor& part : parts) {
      pieces.emplace_back(dtype, Shape{length}, View{{1}, 0}, part, part.element(first));
    }
    ema_adam(pointers(pieces), settings);
    first += length;
  }
  for (size_t k = 0; k < 5; ++k) expect_same(parts[k], whole[k]);
}

// var, m, v, grad of an AdamW step.
std::vector<HostTensor> adam_w_state(Draw& draw, Random& data) {
  const aclDataType dtype = any_dtype(draw);
  const int64_t count = draw.between(1, many(draw, 500, 200000));
  std::vector<HostTensor> state;
  for (int k = 0; k < 4; ++k) state.push_back(random_tensor(data, dtype, {count}));
  state[2] = map(state[2], [](double v) { return std::fabs(v); });
  return state;
}

std::vector<HostTensor> copies(const std::vector<HostTensor>& tensors) {
  std::vector<HostTensor> made;
  for (const HostTensor& tensor : tensors) made.push_back(tensor.copy(Layout::contiguous));
  return made;
}

HostTensor counted(int64_t steps) {
  HostTensor step(ACL_INT64, {1});
  step.set_bits(0, static_cast<uint64_t>(steps));
  return step;
}

void splitting_an_adam_w_tensor_changes_nothing(Draw& draw, Random& data) {
  const std::vector<HostTensor> whole = adam_w_state(draw, data), parts = copies(whole);
  const HostTensor step = counted(draw.below(1000));
  const int64_t count = whole[0].numel();
  adam_w({&whole[0], &whole[1], &whole[2], &whole[3], &step});
  for (int64_t first = 0; first < count;) {
    const int64_t length = draw.between(1, std::min(count - first, count / 3 + 1));
    std::vector<HostTensor> pieces;
    for (const HostTensor& part : parts) {
      pieces.emplace_back(part.dtype(), Shape{length}, View{{1}, 0}, part, part.element(first));
    }
    adam_w({&pieces[0], &pieces[1], &pieces[2], &pieces[3], &step});
    first += length;
  }
  for (size_t k = 0; k < 3; ++k) expect_same(parts[k], whole[k]);
}

// Every operation is odd in the parameter, its first moment and the gradient together. Maximizing equals a
// gradient of the opposite sign. Terms that cancel give +0 on either side.
void a_mirrored_adam_w_step_is_the_mirrored_step(Draw& draw, Random& data) {
  const std::vector<HostTensor> plain = adam_w_state(draw, data), upwards = copies(plain);
  std::vector<HostTensor> mirrored = copies(plain);
  const auto mirror = [](const HostTensor& tensor) {
    return map(tensor, [](double x) { return x == 0 ? 0 : -x; });
  };
  for (const size_t k : {0, 1, 3}) mirrored[k] = mirror(mirrored[k]);
  const HostTensor step = counted(draw.below(1000)), descent = mirror(upwards[3]);
  adam_w({&plain[0], &plain[1], &plain[2], &plain[3], &step});
  adam_w({&mirrored[0], &mirrored[1], &mirrored[2], &mirrored[3], &step});
  adam_w({&upwards[0], &upwards[1], &upwards[2], &descent, &step}, .125f, true);
  for (size_t k = 0; k < 2; ++k) expect_same(mirror(mirrored[k]), mirror(mirror(plain[k])));
  expect_same(mirrored[2], plain[2]);
  for (size_t k = 0; k < 3; ++k) expect_same(upwards[k], plain[k]);
}

// For numbers that every dtype holds, tensors and attributes give the same results. A maximum below all
// moments changes nothing.
void both_versions_of_adam_w_agree(Draw& draw, Random& data) {
  const std::vector<HostTensor> second = adam_w_state(draw, data), first = copies(second),
                                largest = copies(second);
  const int64_t steps = draw.below(4);
  const HostTensor step = counted(steps);
  const double power = std::ldexp(1.0, -static_cast<int>(steps));
  std::vector<HostTensor> numbers;
  for (const double number : {power, power, .5, .125, .5, .5, 0x1p-20}) {
    numbers.emplace_back(second[0].dtype(), Shape{1});
    numbers.back().set(0, number);
  }
  const HostTensor zeros = map(second[0], [](double) { return 0.; });
  const auto tensors = [&](const std::vector<HostTensor>& state) {
    Tensors all = {&state[0], &state[1], &state[2]};
    for (const HostTensor& number : numbers) all.push_back(&number);
    all.insert(all.end(), {&state[3], &zeros});
    return all;
  };
  adam_w_of_tensors(tensors(first), false);
  adam_w_of_tensors(tensors(largest), true);
  adam_w({&second[0], &second[1], &second[2], &second[3], &step});
  for (size_t k = 0; k < 3; ++k) {
    expect_same(first[k], second[k]);
    expect_same(largest[k], second[k]);
  }
}

void a_list_gives_what_single_calls_give(Draw& draw, Random& data) {
  const EmaSettings settings = {.mode = draw.below(2), .bias_correction = draw.chance(2)};
  HostTensor step(ACL_INT64, {1});
  step.set_bits(0, static_cast<uint64_t>(draw.between(1, 1000)));
  std::vector<HostTensor> single, listed;
  const int64_t length = draw.between(1, 5);
  for (int64_t n = 0; n < length; ++n) {
    const aclDataType dtype = any_dtype(draw);
    const int64_t count = draw.between(1, 300);
    for (int k = 0; k < 5; ++k) {
      single.push_back(random_tensor(data, dtype, {count}));
      if (k == 3) single.back() = map(single.back(), [](double v) { return std::fabs(v); });
      listed.push_back(single.back().copy(Layout::contiguous));
    }
    const HostTensor* const t = &single[single.size() - 5];
    ema_adam({t, t + 1, t + 2, t + 3, t + 4, &step}, settings);
  }
  ema_adam_list(listed, step, settings);
  for (size_t k = 0; k < single.size(); ++k) {
    if (k % 5 != 0) expect_same(listed[k], single[k]);
  }
}

constexpr Relation kRelations[] = {
    {"splitting_an_ema_adam_tensor_changes_nothing", splitting_an_ema_adam_tensor_changes_nothing},
    {"splitting_an_adam_w_tensor_changes_nothing", splitting_an_adam_w_tensor_changes_nothing},
    {"a_mirrored_adam_w_step_is_the_mirrored_step", a_mirrored_adam_w_step_is_the_mirrored_step},
    {"both_versions_of_adam_w_agree", both_versions_of_adam_w_agree},
    {"a_list_gives_what_single_calls_give", a_list_gives_what_single_calls_give},
};

}  // namespace
}  // namespace calls

std::span<const Relation> optimizer_relations() { return calls::kRelations; }

}  // namespace openaclnn_test
