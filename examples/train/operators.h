// The six operators of the training step, called through the public two-phase C interface, timed by
// events on the stream and, if requested, recomputed by the oracle from the stored inputs. Layers
// and optimizer use plain functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "device.h"
#include "oracle.h"
#include "sequences.h"

namespace train {

// The totals of one operator so far.
struct OperatorRecord {
  std::string name;
  int64_t calls = 0;
  // Seconds between the events around its calls.
  double seconds = 0;
  // The least traffic: every required input element read once, every output element written once.
  double bytes = 0;
  // Named outputs and their worst deviation so far; a copy of bits has an empty name.
  std::vector<std::pair<std::string, Deviation>> worst;
};

class Operators {
 public:
  // Every tensor that is not an index has this storage type.
  Operators(const Stream& stream, aclDataType dtype);

  // While enabled, every call is followed by a synchronize and a comparison with the oracle. A
  // broken promise throws RunError.
  void set_checking(bool on) { checking_ = on; }
  // The worst deviations since the last call of this function.
  std::vector<OperatorRecord> take_recent_check();

  // out[n, :] = weight[indices[n], :]
  void embedding(const DeviceTensor& weight, const DeviceTensor& indices, DeviceTensor& out);
  // out[w, :] = sum of grad[n, :] over the n with indices[n] = w
  void embedding_dense_backward(const DeviceTensor& grad, const DeviceTensor& indices, DeviceTensor& out);
  // out[g, :] = sum of grad[r, :] over the rows from ends[g - 1] (0 for the first) to ends[g]
  void grouped_bias_add_grad(const DeviceTensor& grad, const DeviceTensor& ends, DeviceTensor& out);
  // out[j, n, :] = sum of weight[i, n] * input[t, n, :] over the rows t of block j, i within the block
  void nsa_compress(const DeviceTensor& input, const DeviceTensor& weight, const Sequences& sequences,
                    const Blocks& blocks, DeviceTensor& out);
  // The gradients of `input` and `weight` of the function above.
  void nsa_compress_grad(const DeviceTensor& out_grad, const DeviceTensor& input, const DeviceTensor& weight,
                         const Sequences& sequences, const Blocks& blocks, DeviceTensor& input_grad,
                         DeviceTensor& weight_grad);
  // One AdamW step of `var` with its moments m, v and the moving average s of its values; `step` is
  // read on the device.
  void apply_fused_ema_adam(const DeviceTensor& grad, DeviceTensor& var, DeviceTensor& m, DeviceTensor& v,
                            DeviceTensor& s, const DeviceTensor& step, const EmaAdamAttributes& attributes);

  // Waits for the stream and adds the times of the calls since the last synchronize to the records.
  void synchronize();

  const Stream& stream() const { return stream_; }
  aclDataType dtype() const { return dtype_; }
  const std::vector<OperatorRecord>& records() const { return records_; }
  double oracle_seconds() const { return oracle_seconds_; }

 private:
  struct TimedCall {
    size_t record;
    size_t event;  // index of the start event; the end event follows it
  };

  template <class Phase1, class Phase2>
  void run(size_t record, double bytes, Phase1 phase1, Phase2 phase2);
  template <class Compare>
  void check(size_t record, Compare compare);
  const Event& next_event();

  const Stream& stream_;
  aclDataType dtype_;
  Workspace workspace_;
  bool checking_ = false;
  std::vector<OperatorRecord> records_;
  std::vector<OperatorRecord> recent_;
  std::vector<Event> events_;
  size_t events_used_ = 0;
  std::vector<TimedCall> timed_calls_;
  double oracle_seconds_ = 0;
};

}  // namespace train
