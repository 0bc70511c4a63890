// Two phases, two events and one optional comparison per operator call.
#include "operators.h"

#include <aclnnop/aclnn_apply_fused_ema_adam.h>
#include <aclnnop/aclnn_embedding.h>
#include <aclnnop/aclnn_embedding_dense_backward.h>
#include <aclnnop/aclnn_grouped_bias_add_grad.h>
#include <aclnnop/aclnn_nsa_compress.h>
#include <aclnnop/aclnn_nsa_compress_grad.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "errors.h"

namespace train {
namespace {

enum Record : size_t {
  kEmbedding,
  kEmbeddingDenseBackward,
  kNsaCompress,
  kNsaCompressGrad,
  kGroupedBiasAddGrad,
  kApplyFusedEmaAdam
};

std::vector<OperatorRecord> empty_records() {
  struct Entry {
    const char* name;
    std::vector<const char*> outputs;
  };
  const Entry entries[] = {{"aclnnEmbedding", {""}},
                           {"aclnnEmbeddingDenseBackward", {"table"}},
                           {"aclnnNsaCompress", {"compressed"}},
                           {"aclnnNsaCompressGrad", {"input", "weight"}},
                           {"aclnnGroupedBiasAddGrad", {"bias"}},
                           {"aclnnApplyFusedEmaAdam", {"m", "v", "var", "s"}}};  // in the order of Record
  std::vector<OperatorRecord> records;
  for (const Entry& entry : entries) {
    records.emplace_back().name = entry.name;
    for (const char* output : entry.outputs) records.back().worst.push_back({output, {}});
  }
  return records;
}

// Adds the time until its end to a sum, so that the oracle's work does not count as training.
class AddElapsed {
 public:
  explicit AddElapsed(double& seconds) : seconds_(seconds), start_(std::chrono::steady_clock::now()) {}
  ~AddElapsed() {
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  AddElapsed(const AddElapsed&) = delete;
  AddElapsed& operator=(const AddElapsed&) = delete;

 private:
  double& seconds_;
  std::chrono::steady_clock::time_point start_;
};

// The host's copy of a tensor, for the oracle.
template <class T>
std::vector<T> stored(const DeviceTensor& tensor, const Stream& stream) {
  std::vector<T> values(static_cast<size_t>(tensor.elements()));
  tensor.download(std::span(values), stream);
  return values;
}

NumberFormat format_of(const DeviceTensor& tensor) {
  switch (tensor.dtype()) {
    case ACL_BF16: return kBf16Format;
    case ACL_FLOAT16: return kHalfFormat;
    default: return kFloatFormat;
  }
}

CompressionShape shape_of(const DeviceTensor& input, const Sequences& sequences, const Blocks& blocks) {
  return {.heads = input.dim(1), .width = input.dim(2), .sequences = sequences, .blocks = blocks};
}

// Arguments of the compression operators: the lengths are the ends of the sequences, the layout is
// the packed one, in a modifiable array because the interface requires one.
constexpr int64_t kLengthsAreEnds = 0;
std::array<char, 4> layout() { return {'T', 'N', 'D', 0}; }

}  // namespace

Operators::Operators(const Stream& stream, aclDataType dtype)
    : stream_(stream), dtype_(dtype), records_(empty_records()), recent_(empty_records()) {}

const Event& Operators::next_event() {
  if (events_used_ == events_.size()) events_.emplace_back();
  return events_[events_used_++];
}

template <class Phase1, class Phase2>
void Operators::run(size_t record, double bytes, Phase1 phase1, Phase2 phase2) {
  const std::string& name = records_[record].name;
  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
  require(phase1(&workspace_bytes, &executor), (name + "GetWorkspaceSize").c_str());
  void* workspace = workspace_.reserve(workspace_bytes);
  timed_calls_.push_back({record, events_used_});
  next_event().record(stream_);
  require(phase2(workspace, workspace_bytes, executor, stream_.handle()), name.c_str());
  next_event().record(stream_);
  ++records_[record].calls;
  records_[record].bytes += bytes;
}

template <class Compare>
void Operators::check(size_t record, Compare compare) {
  stream_.synchronize();  // the oracle's time does not count
  const AddElapsed timer(oracle_seconds_);
  const std::vector<Deviation> deviations = compare();
  for (size_t i = 0; i < deviations.size(); ++i) {
    const Deviation& deviation = deviations[i];
    auto& [output, worst] = records_[record].worst[i];
    worst.merge(deviation);
    recent_[record].worst[i].second.merge(deviation);
    if (deviation.kept()) continue;
    const std::string which = output.empty() ? "its output" : "output " + output;
    throw RunError(deviation.wrong_bits
                       ? fmt::format("{}: {} of {} elements of {} do not have the promised bits",
                                     records_[record].name, deviation.wrong_bits, deviation.bitwise, which)
                       : fmt::format("{}: {} is {:.4g} times as far from the exact result as promised",
                                     records_[record].name, which, deviation.of_promise));
  }
}

std::vector<OperatorRecord> Operators::take_recent_check() { return std::exchange(recent_, empty_records()); }

void Operators::embedding(const DeviceTensor& weight, const DeviceTensor& indices, DeviceTensor& out) {
  // At least the smaller of the table and the gathered rows is read.
  const auto read = static_cast<double>(std::min(weight.bytes(), out.bytes()));
  run(
      kEmbedding, read + static_cast<double>(indices.bytes() + out.bytes()),
      [&](uint64_t* workspace_bytes, aclOpExecutor** executor) {
        return aclnnEmbeddingGetWorkspaceSize(weight.handle(), indices.handle(), out.handle(),
                                              workspace_bytes, executor);
      },
      aclnnEmbedding);
  if (!checking_) return;
  check(kEmbedding, [&] {
    return std::vector{check_embedding(stored<float>(weight, stream_), stored<int32_t>(indices, stream_),
                                       stored<float>(out, stream_), weight.dim(1))};
  });
}

void Operators::embedding_dense_backward(const DeviceTensor& grad, const DeviceTensor& indices,
                                         DeviceTensor& out) {
  const auto rows = static_cast<uint64_t>(out.dim(0));
  constexpr auto kNoPadding = static_cast<uint64_t>(-1);
  run(
      kEmbeddingDenseBackward, static_cast<double>(grad.bytes() + indices.bytes() + out.bytes()),
      [&](uint64_t* workspace_bytes, aclOpExecutor** executor) {
        return aclnnEmbeddingDenseBackwardGetWorkspaceSize(grad.handle(), indices.handle(), rows, kNoPadding,
                                                           /*scaleGradByFreq=*/false, out.handle(),
                                                           workspace_bytes, executor);
      },
      aclnnEmbeddingDenseBackward);
  if (!checking_) return;
  check(kEmbeddingDenseBackward, [&] {
    return std::vector{
        check_embedding_dense_backward(stored<float>(grad, stream_), stored<int32_t>(indices, stream_),
                                       stored<float>(out, stream_), out.dim(1), format_of(out))};
  });
}

void Operators::grouped_bias_add_grad(const DeviceTensor& grad, const DeviceTensor& ends, DeviceTensor& out) {
  run(
      kGroupedBiasAddGrad, static_cast<double>(grad.bytes() + ends.bytes() + out.bytes()),
      [&](uint64_t* workspace_bytes, aclOpExecutor** executor) {
        return aclnnGroupedBiasAddGradGetWorkspaceSize(grad.handle(), ends.handle(), out.handle(),
                                                       workspace_bytes, executor);
      },
      aclnnGroupedBiasAddGrad);
  if (!checking_) return;
  check(kGroupedBiasAddGrad, [&] {
    return std::vector{check_grouped_bias_add_grad(stored<float>(grad, stream_),
                                                   stored<int64_t>(ends, stream_),
                                                   stored<float>(out, stream_), format_of(out))};
  });
}

void Operators::nsa_compress(const DeviceTensor& input, const DeviceTensor& weight,
                             const Sequences& sequences, const Blocks& blocks, DeviceTensor& out) {
  const IntArray ends(sequences.ends);
  run(
      kNsaCompress, static_cast<double>(input.bytes() + weight.bytes() + out.bytes()),
      [&](uint64_t* workspace_bytes, aclOpExecutor** executor) {
        return aclnnNsaCompressGetWorkspaceSize(input.handle(), weight.handle(), ends.handle(),
                                                layout().data(), blocks.length, blocks.stride,
                                                kLengthsAreEnds, out.handle(), workspace_bytes, executor);
      },
      aclnnNsaCompress);
  if (!checking_) return;
  check(kNsaCompress, [&] {
    return std::vector{check_nsa_compress(stored<float>(input, stream_), stored<float>(weight, stream_),
                                          shape_of(input, sequences, blocks), stored<float>(out, stream_),
                                          format_of(out))};
  });
}

void Operators::nsa_compress_grad(const DeviceTensor& out_grad, const DeviceTensor& input,
                                  const DeviceTensor& weight, const Sequences& sequences,
                                  const Blocks& blocks, DeviceTensor& input_grad, DeviceTensor& weight_grad) {
  const IntArray ends(sequences.ends);
  run(
      kNsaCompressGrad, static_cast<double>(out_grad.bytes() + 2 * input.bytes() + 2 * weight.bytes()),
      [&](uint64_t* workspace_bytes, aclOpExecutor** executor) {
        return aclnnNsaCompressGradGetWorkspaceSize(out_grad.handle(), input.handle(), weight.handle(),
                                                    ends.handle(), blocks.length, blocks.stride,
                                                    kLengthsAreEnds, layout().data(), input_grad.handle(),
                                                    weight_grad.handle(), workspace_bytes, executor);
      },
      aclnnNsaCompressGrad);
  if (!checking_) return;
  check(kNsaCompressGrad, [&] {
    const NsaCompressGradDeviation deviation = check_nsa_compress_grad(
        stored<float>(out_grad, stream_), stored<float>(input, stream_), stored<float>(weight, stream_),
        shape_of(input, sequences, blocks), stored<float>(input_grad, stream_),
        stored<float>(weight_grad, stream_), format_of(input_grad));
    return std::vector{deviation.input, deviation.weight};
  });
}

void Operators::apply_fused_ema_adam(const DeviceTensor& grad, DeviceTensor& var, DeviceTensor& m,
                                     DeviceTensor& v, DeviceTensor& s, const DeviceTensor& step,
                                     const EmaAdamAttributes& a) {
  struct Copies {
    std::vector<float> var, m, v, s;
    EmaAdamTensors view() const { return {var, m, v, s}; }
  };
  const auto copies = [&] {
    return Copies{stored<float>(var, stream_), stored<float>(m, stream_), stored<float>(v, stream_),
                  stored<float>(s, stream_)};
  };
  Copies before;
  if (checking_) {
    stream_.synchronize();
    const AddElapsed timer(oracle_seconds_);
    before = copies();
  }
  // Five tensors in, four out, and the eight bytes of the step.
  run(
      kApplyFusedEmaAdam, 9.0 * static_cast<double>(grad.bytes()) + 8,
      [&](uint64_t* workspace_bytes, aclOpExecutor** executor) {
        return aclnnApplyFusedEmaAdamGetWorkspaceSize(
            grad.handle(), var.handle(), m.handle(), v.handle(), s.handle(), step.handle(), a.lr, a.ema_decay,
            a.beta1, a.beta2, a.eps, a.mode, a.bias_correction, a.weight_decay, workspace_bytes, executor);
      },
      aclnnApplyFusedEmaAdam);
  if (!checking_) return;
  check(kApplyFusedEmaAdam, [&] {
    const Copies after = copies();
    const EmaAdamDeviation deviation =
        check_ema_adam(stored<float>(grad, stream_), before.view(), stored<int64_t>(step, stream_)[0], a,
                       after.view(), format_of(var));
    return std::vector{deviation.m, deviation.v, deviation.var, deviation.s};
  });
}

void Operators::synchronize() {
  stream_.synchronize();
  for (const TimedCall& call : timed_calls_)
    records_[call.record].seconds += events_[call.event + 1].seconds_since(events_[call.event]);
  timed_calls_.clear();
  events_used_ = 0;
}

}  // namespace train
