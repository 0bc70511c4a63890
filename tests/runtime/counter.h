// A call of ApplyFusedEmaAdam that counts, for tests of whether a task ran, how often, and in which order.
#pragma once

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "runtime/runtime_test.h"

namespace runtime_test {

// ApplyFusedEmaAdam with attributes that make it a counter: grad 1, both betas and eps 0, lr -1. A call
// adds 1 + weightDecay * value to every element. Calls with different weightDecay do not commute, which
// shows their order.
class Counter {
 public:
  explicit Counter(int64_t count = 1)
      : grad_(static_cast<size_t>(count), 1.0f), var_(grad_.size()), m_(var_), v_(var_), s_(var_) {
    const std::vector<int64_t> dims = {count};
    tensors_ = {make_tensor(dims, ACL_FLOAT, grad_.data()), make_tensor(dims, ACL_FLOAT, var_.data()),
                make_tensor(dims, ACL_FLOAT, m_.data()),    make_tensor(dims, ACL_FLOAT, v_.data()),
                make_tensor(dims, ACL_FLOAT, s_.data()),    make_tensor({1}, ACL_INT64, &step_)};
  }
  ~Counter() {
    for (const aclTensor* tensor : tensors_) (void)aclDestroyTensor(tensor);
  }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  // Phase 1. The tensors in signature order: grad, var, m, v, s, step.
  int plan(aclOpExecutor** executor, double weight_decay = 0, bool bias_correction = false) {
    uint64_t workspace_bytes = 0;
    const auto& t = tensors_;
    return aclnnApplyFusedEmaAdamGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], -1, 0, 0, 0, 0, 1,
                                                  bias_correction, weight_decay, &workspace_bytes, executor);
  }
  aclOpExecutor* planned(double weight_decay = 0, bool bias_correction = false) {
    aclOpExecutor* executor = nullptr;
    EXPECT_EQ(plan(&executor, weight_decay, bias_correction), 0);
    return executor;
  }
  // Both phases: value -> value + 1 + weight_decay * value.
  int add(aclrtStream stream, double weight_decay = 0) {
    aclOpExecutor* executor = nullptr;
    const int code = plan(&executor, weight_decay);
    return code != 0 ? code : aclnnApplyFusedEmaAdam(nullptr, 0, executor, stream);
  }

  float value(int64_t i = 0) const { return var_[static_cast<size_t>(i)]; }
  bool all_equal(float expected) const {
    for (float value : var_) {
      if (value != expected) return false;
    }
    return true;
  }
  aclTensor* tensor(size_t k) const { return tensors_[k]; }
  float* grad() { return grad_.data(); }
  float* var() { return var_.data(); }
  int64_t& step() { return step_; }

 private:
  std::vector<float> grad_, var_, m_, v_, s_;
  int64_t step_ = 1;
  std::vector<aclTensor*> tensors_;
};

}  // namespace runtime_test
