// The recorder: what OPENACLNN_TRACE and OPENACLNN_DUMP keep of calls. When both are off, each phase pays for one load and one branch.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "aclnn/acl_meta.h"
#include "base/status.h"
#include "runtime/device.h"

namespace openaclnn {

struct Call;
struct Executor;

enum class Recording : uint8_t { unknown, off, on };
extern std::atomic<Recording> recording_state;
[[gnu::cold]] bool find_out_recording();

inline bool is_recording() {
  const Recording state = recording_state.load(std::memory_order_relaxed);
  if (state == Recording::off) [[likely]]
    return false;
  return state == Recording::on || find_out_recording();
}

// One argument of phase 1, as the caller gave it.
struct RecordedArgument {
  struct TensorText {
    bool is_given = false;
    bool is_live = false;
    aclDataType dtype = ACL_DT_UNDEFINED;
    std::vector<int64_t> dims, strides;
    int64_t offset = 0;
    void* data = nullptr;
  };
  enum class Kind { tensor, list, integers, integer, real, flag, text };

  const char* name;
  Kind kind;
  std::vector<TensorText> tensors;  // one, or those of a list
  std::vector<int64_t> integers;
  double real = 0;
  std::string text;
  bool is_given = true;  // false: NULL
};

// What phase 1 was called with. Rooms pass their arguments in the order of the signature: record("lr", lr)("mode", mode)…
class CallRecord {
 public:
  explicit CallRecord(const char* function) : function_(function) {}

  CallRecord& operator()(const char* name, const aclTensor* tensor);
  CallRecord& operator()(const char* name, const aclTensorList* list);
  CallRecord& operator()(const char* name, const aclIntArray* array);
  CallRecord& operator()(const char* name, const char* text);
  CallRecord& operator()(const char* name, double number);
  CallRecord& operator()(const char* name, int64_t number);
  CallRecord& operator()(const char* name, uint64_t number);
  CallRecord& operator()(const char* name, bool flag);

  const char* function() const { return function_; }
  Clock::time_point begin() const { return begin_; }
  const std::vector<RecordedArgument>& arguments() const { return arguments_; }

 private:
  RecordedArgument& add(const char* name, RecordedArgument::Kind kind);

  const char* function_;
  Clock::time_point begin_ = Clock::now();
  std::vector<RecordedArgument> arguments_;
};

// Phase 1 is over: `status` says how. Never fails; what there is no memory for is not recorded.
[[gnu::cold]] void record_phase1(const CallRecord& record, const Status& status) noexcept;

// Runs phase 2 and records how it ended, also when by an exception. `executor`: as it is before; nullptr when there is none.
[[gnu::cold]] Status record_phase2(const Executor* executor, const char* operator_name,
                                   const std::function<Status()>& phase);

// Makes the task record itself when it runs, if there is memory for that. `call` is what it was made from.
[[gnu::cold]] void record_task(Task& task, const std::shared_ptr<const Call>& call,
                               uint64_t stream_number) noexcept;

// What the recorder cannot do, for want of memory, must not change what the program sees.
template <class Body>
void quietly(const Body& body) noexcept {
  try {
    body();
  } catch (const std::exception&) {
  }
}

}  // namespace openaclnn
