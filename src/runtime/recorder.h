// The recorder: writes calls for OPENACLNN_TRACE, OPENACLNN_DUMP and the dumps of acl.json. If all are off, each
// phase costs one load and one branch.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>

#include "base/status.h"
#include "runtime/call.h"
#include "runtime/call_record.h"
#include "runtime/device.h"
#include "runtime/dump.h"

namespace openaclnn {

enum class Recording : uint8_t { unknown, off, on };
extern std::atomic<Recording> recording_state;
[[gnu::cold]] bool find_out_recording();

inline bool is_recording() {
  const Recording state = recording_state.load(std::memory_order_relaxed);
  if (state == Recording::off) [[likely]]
    return false;
  return state == Recording::on || find_out_recording();
}

// Records the result of phase 1. Never fails: if memory is exhausted, it records nothing.
[[gnu::cold]] void record_phase1(const CallRecord& record, const Status& status) noexcept;

// Runs phase 2 and records its result, including exceptions. `before`: the call of the executor and its
// addresses before the phase. It has no call if there is no executor.
[[gnu::cold]] Status record_phase2(const DumpedData& before, const char* function,
                                   const std::function<Status()>& phase);

// Makes the task record itself when it runs, if memory allows. `call` is the call that the task came from.
[[gnu::cold]] void record_task(Task& task, const std::shared_ptr<const Call>& call,
                               uint64_t stream_number) noexcept;

// Runs the body and ignores its exceptions: failures of the recorder must not affect the program.
template <class Body>
void quietly(const Body& body) noexcept {
  try {
    body();
  } catch (const std::exception&) {
  }
}

}  // namespace openaclnn
