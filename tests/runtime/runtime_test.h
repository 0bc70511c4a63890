// What the runtime's tests share: expecting a code with its sentence, a fixture with device and stream, and a small
// operator call whose effect is easy to predict.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "acl/acl.h"
#include "aclnnop/aclnn_apply_fused_ema_adam.h"
#include "aclnnop/aclnn_embedding.h"
#include "openaclnn/status.h"

#if defined(__has_feature)
#define OPENACLNN_TEST_HAS(feature) __has_feature(feature)
#else
#define OPENACLNN_TEST_HAS(feature) 0
#endif

namespace runtime_test {

#if defined(__SANITIZE_THREAD__) || OPENACLNN_TEST_HAS(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#if defined(__SANITIZE_ADDRESS__) || OPENACLNN_TEST_HAS(address_sanitizer)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

// Sets an environment variable before the library reads it: for objects at namespace scope. ctest's own setting wins.
struct SetEnvironment {
  SetEnvironment(const char* name, const char* value) { setenv(name, value, 0); }
};

// Gates hold up workers, so there must be more of them than a small machine has cores.
inline const SetEnvironment several_workers("OPENACLNN_NUM_THREADS", "4");

// Takes this thread's error text and compares: success leaves no text, a failure adds a line that ends with the code and
// contains every part. Evaluate the call as the second argument: expect(107002, aclrtMalloc(…), {"context"}).
// A success touches nothing of gtest's, whose locks a forked child could inherit.
inline void expect(int expected, int code, std::initializer_list<std::string_view> parts = {},
                   const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const char* text = aclGetRecentErrMsg();
  const auto fail = [&](const std::string& why) {
    ADD_FAILURE_AT(file, line) << why << "\n" << (text != nullptr ? text : "(no error text)");
  };
  if (code != expected) fail("code " + std::to_string(code) + ", expected " + std::to_string(expected));
  if (code == 0 || expected == 0) {
    if (code == 0 && text != nullptr) fail("a success left error text");
    return;
  }
  if (text == nullptr) return fail("a failure without a sentence");
  const std::string whole = text;
  const std::string newest = whole.substr(0, whole.find('\n'));
  if (newest.find(" [" + std::to_string(code) + " ") == std::string::npos)
    fail("the sentence lacks its code");
  if (newest.find("UNKNOWN") != std::string::npos) fail("the code has no name");
  for (std::string_view part : parts) {
    if (newest.find(part) == std::string::npos) fail("the sentence lacks: " + std::string(part));
  }
}

// Contiguous tensor over caller memory.
inline aclTensor* make_tensor(const std::vector<int64_t>& dims, aclDataType dtype, void* data) {
  return aclCreateTensor(dims.data(), dims.size(), dtype, nullptr, 0, ACL_FORMAT_ND, dims.data(), dims.size(),
                         data);
}

// ApplyFusedEmaAdam with attributes that make it a counter: grad 1, both betas and eps 0, lr -1, so that a call adds
// 1 + weightDecay * value to every element. Calls with different weightDecay do not commute, which shows their order.
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

// aclnnEmbedding over a table of ten one-element rows. Indices outside [0, 10) are FAULTs that a kernel finds.
class Lookup {
 public:
  explicit Lookup(std::vector<int64_t> indices) : indices_(std::move(indices)), out_(indices_.size(), -1.0f) {
    const auto count = static_cast<int64_t>(indices_.size());
    tensors_ = {make_tensor({10, 1}, ACL_FLOAT, weight_), make_tensor({count}, ACL_INT64, indices_.data()),
                make_tensor({count, 1}, ACL_FLOAT, out_.data())};
  }
  ~Lookup() {
    for (const aclTensor* tensor : tensors_) (void)aclDestroyTensor(tensor);
  }
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

  int enqueue(aclrtStream stream) {
    uint64_t workspace_bytes = 0;
    aclOpExecutor* executor = nullptr;
    const int code =
        aclnnEmbeddingGetWorkspaceSize(tensors_[0], tensors_[1], tensors_[2], &workspace_bytes, &executor);
    if (code != 0) return code;
    if (workspace_.size() < workspace_bytes) workspace_.resize(workspace_bytes);  // none on the CPU
    return aclnnEmbedding(workspace_.data(), workspace_bytes, executor, stream);
  }
  const std::vector<float>& out() const { return out_; }

 private:
  float weight_[10] = {0, 10, 20, 30, 40, 50, 60, 70, 80, 90};
  std::vector<int64_t> indices_;
  std::vector<float> out_;
  std::vector<char> workspace_;
  std::vector<aclTensor*> tensors_;
};

// Device 0 is current and `stream` is a stream of it.
class RuntimeTest : public testing::Test {
 protected:
  void SetUp() override {
    (void)aclGetRecentErrMsg();
    (void)aclrtGetLastError(ACL_RT_THREAD_LEVEL);
    expect(0, aclrtSetDevice(0));
    expect(0, aclrtCreateStream(&stream));
  }
  void TearDown() override {
    (void)aclGetRecentErrMsg();
    expect(0, aclrtSetDevice(0));  // the test may have changed the context
    if (stream != nullptr) expect(0, aclrtDestroyStream(stream));
    (void)aclrtSynchronizeDevice();  // an orphaned fault must not reach the next test
    (void)aclGetRecentErrMsg();
    expect(0, aclrtResetDevice(0));
    expect(0, aclrtResetDevice(0));
  }

  static bool is_idle(aclrtStream which) {
    aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
    expect(0, aclrtStreamQuery(which, &status));
    return status == ACL_STREAM_STATUS_COMPLETE;
  }
  static aclrtStream new_stream() {
    aclrtStream created = nullptr;
    expect(0, aclrtCreateStream(&created));
    return created;
  }
  static aclrtEvent new_event() {
    aclrtEvent created = nullptr;
    expect(0, aclrtCreateEvent(&created));
    return created;
  }

  aclrtStream stream = nullptr;
};

}  // namespace runtime_test
