// The reference traffic of each kind of operator.
#include "references.h"

#include <bit>
#include <utility>

#include "arithmetic.h"

namespace openaclnn_bench {

namespace {

// A number per thread that depends on the read bytes, each on its own line.
class Seen {
 public:
  explicit Seen(const Team& team) : sums_(static_cast<size_t>(team.threads()) * kApart) {}
  uint64_t& of(int thread) { return sums_[static_cast<size_t>(thread) * kApart]; }
  void add(int thread, float value) { of(thread) += std::bit_cast<uint32_t>(value); }

 private:
  static constexpr size_t kApart = 8;
  std::vector<uint64_t> sums_;
};

// The first row of a thread's share.
int64_t first_row(const RowTerms& rows, int thread, int threads) {
  const int64_t count = static_cast<int64_t>(rows.starts.size()) - 1;
  const int64_t total = count + static_cast<int64_t>(rows.terms.size());
  int64_t row = 0;
  while (row < count && row + rows.starts[static_cast<size_t>(row)] < total * thread / threads) ++row;
  return row;
}

}  // namespace

double run_update(Team& team, int calls, const Tensor& grad, const std::vector<const Tensor*>& states) {
  return team.run(calls, [&](int thread) {
    const Part part = part_of(grad.bytes(), thread, team.threads());
    void* parts[4];
    for (size_t k = 0; k < states.size(); ++k) parts[k] = states[k]->data() + part.begin;
    traffic_kernels().update(grad.data() + part.begin, std::span(parts).first(states.size()), part.bytes);
  });
}

double run_read(Team& team, int calls, const Tensor& input) {
  Seen seen(team);
  return team.run(calls, [&](int thread) {
    const Part part = part_of(input.bytes(), thread, team.threads());
    seen.of(thread) += traffic_kernels().read(input.data() + part.begin, part.bytes);
  });
}

double run_read_and_copy(Team& team, int calls, const Tensor& input, const Tensor& from, const Tensor& to) {
  Seen seen(team);
  return team.run(calls, [&](int thread) {
    const Part in = part_of(input.bytes(), thread, team.threads());
    const Part out = part_of(to.bytes(), thread, team.threads());
    seen.of(thread) += traffic_kernels().read(input.data() + in.begin, in.bytes);
    traffic_kernels().copy(from.data() + out.begin, to.data() + out.begin, out.bytes);
  });
}

double run_arithmetic_ema_adam(Team& team, int calls, const Tensor& grad,
                               const std::array<const Tensor*, 4>& states) {
  return team.run(calls, [&](int thread) {
    const Part part = part_of(grad.bytes(), thread, team.threads());
    std::array<void*, 4> parts;
    for (size_t k = 0; k < states.size(); ++k) parts[k] = states[k]->data() + part.begin;
    arithmetic_kernels().ema_adam(grad.dtype(), grad.data() + part.begin, parts, part.bytes);
  });
}

double run_arithmetic_sum(Team& team, int calls, aclDataType dtype, const Tensor& input) {
  Seen seen(team);
  return team.run(calls, [&](int thread) {
    const Part part = part_of(input.bytes(), thread, team.threads());
    seen.add(thread, arithmetic_kernels().sum(dtype, input.data() + part.begin, part.bytes));
  });
}

double run_arithmetic_compress(Team& team, int calls, aclDataType dtype, int windows, const Tensor& input,
                               const Tensor& to) {
  Seen seen(team);
  return team.run(calls, [&](int thread) {
    const Part in = part_of(input.bytes(), thread, team.threads());
    const Part out = part_of(to.bytes(), thread, team.threads());
    seen.add(thread, arithmetic_kernels().compress(dtype, windows, input.data() + in.begin, in.bytes));
    traffic_kernels().copy(input.data() + out.begin, to.data() + out.begin, out.bytes);
  });
}

double run_arithmetic_compress_grad(Team& team, int calls, aclDataType dtype, int windows,
                                    const Tensor& read_alone, const Tensor& input, const Tensor& to) {
  Seen seen(team);
  return team.run(calls, [&](int thread) {
    const Part alone = part_of(read_alone.bytes(), thread, team.threads());
    const Part part = part_of(input.bytes(), thread, team.threads());
    seen.of(thread) += traffic_kernels().read(read_alone.data() + alone.begin, alone.bytes);
    seen.add(thread, arithmetic_kernels().compress_grad(dtype, windows, input.data() + part.begin,
                                                        to.data() + part.begin, part.bytes));
  });
}

GatherReference::GatherReference(RowTerms rows, const Tensor& from, const Tensor& to, int64_t row_bytes)
    : rows_(std::move(rows)), gather_{from.data(), rows_.terms.data(), rows_.starts.data(),
                                      to.data(),   row_bytes,          row_bytes} {}

double GatherReference::run(Team& team, int calls) {
  constexpr int64_t kLine = 64;
  if (gather_.row_bytes % kLine != 0) return -1;
  if (shares_.empty()) {
    for (int thread = 0; thread <= team.threads(); ++thread)
      shares_.push_back(first_row(rows_, thread, team.threads()));
  }
  return team.run(calls, [&](int thread) {
    traffic_kernels().gather(gather_, shares_[static_cast<size_t>(thread)],
                             shares_[static_cast<size_t>(thread) + 1]);
  });
}

}  // namespace openaclnn_bench
