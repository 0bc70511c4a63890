// Runs an operator on arrays: handles that destroy themselves, and both phases including the wait for the
// results.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "acl/acl.h"
#include "aclnn/aclnn_base.h"
#include "array.h"
#include "failure.h"
#include "place.h"

namespace openaclnn::python {

// Owns a handle of the meta layer.
template <class T, aclnnStatus (*kDestroy)(const T*)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T* handle) : handle_(handle) {
    if (handle == nullptr) require_success(ACL_ERROR_RT_MEMORY_ALLOCATION);
  }
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Handle() {
    if (handle_ != nullptr) (void)kDestroy(handle_);
  }

  T* get() const { return handle_; }
  T* release() { return std::exchange(handle_, nullptr); }

 private:
  T* handle_ = nullptr;
};

using Tensor = Handle<aclTensor, aclDestroyTensor>;
using TensorList = Handle<aclTensorList, aclDestroyTensorList>;
using IntArray = Handle<aclIntArray, aclDestroyIntArray>;

Tensor make_tensor(const Array& array);
TensorList make_list(std::span<const Array> arrays);
// NULL if there are no numbers.
IntArray make_int_array(std::span<const int64_t> numbers);

using Phase2 = aclnnStatus (*)(void* workspace, uint64_t workspace_bytes, aclOpExecutor* executor,
                               aclrtStream stream);

// The results of phase 1. An executor that is not run is destroyed.
struct Prepared {
  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
};

// Runs phase 2 in this thread's stream and waits. It does not need Python's lock. Returns a code with an
// error message. kAgain: the program finalised the library, so the stream is destroyed, and a second
// attempt gets a new one. kInterrupted: with `place`, a signal handler raised, Ctrl-C for example. Python's
// exception is set. The work goes on, and everything it uses is kept.
inline constexpr int kAgain = -1, kInterrupted = -2;
int run_and_wait(const Prepared& prepared, Phase2 phase2, const Place* place);

// Waits for the interrupted work of this thread and releases what it used. Throws if it is interrupted again.
void finish_interrupted_work();

// Runs both phases for callers that do not hold Python's lock. `phase1` gets the addresses of the two
// results of phase 1. Returns a code. `place`: as in run_and_wait.
template <class Phase1>
int run_without_python(Phase1&& phase1, Phase2 phase2, const Place* place = nullptr) {
  int code = kAgain;
  for (int attempt = 0; attempt < 2 && code == kAgain; ++attempt) {
    Prepared prepared;
    code = phase1(&prepared.workspace_bytes, &prepared.executor);
    if (code == 0) code = run_and_wait(prepared, phase2, place);
  }
  return code;
}

// On a GPU: enqueues phase 2 in the place's stream, with a workspace from the arrays' library. Holds
// Python's lock except during phase 2. Returns a code, or kAgain as run_and_wait does.
int enqueue(const Place& place, const Prepared& prepared, Phase2 phase2);
// Makes the context or stream current that phase 1 needs.
int require_current(const Place& place);

// The same for callers that hold the lock: it is released while the operator computes. Throws Failure.
// `ignored` is a code that counts as success. On a GPU the results are complete when the stream of the
// arrays' library has run the work.
template <class Phase1>
void run(const Place& place, Phase1&& phase1, Phase2 phase2, int ignored = 0) {
  int code = kAgain;
  if (computes_on_gpu()) {
    for (int attempt = 0; attempt < 2 && code == kAgain; ++attempt) {
      Prepared prepared;
      code = require_current(place);
      if (code == 0) code = phase1(&prepared.workspace_bytes, &prepared.executor);
      if (code == 0) code = enqueue(place, prepared, phase2);
    }
  } else {
    finish_interrupted_work();
    const nb::gil_scoped_release unlocked;
    code = run_without_python(std::forward<Phase1>(phase1), phase2, place.is_long() ? &place : nullptr);
  }
  if (code == kInterrupted) throw nb::python_error();
  if (code != 0 && code == ignored) {
    (void)aclGetRecentErrMsg();
  } else {
    require_success(code, place.caller());
  }
}

}  // namespace openaclnn::python
