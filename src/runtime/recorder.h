// The recorder: what OPENACLNN_TRACE and OPENACLNN_DUMP keep of calls. When both are off, each phase pays for one load and one branch.
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

// Phase 1 is over: `status` says how. Never fails; what there is no memory for is not recorded.
[[gnu::cold]] void record_phase1(const CallRecord& record, const Status& status) noexcept;

// Runs phase 2 and records how it ended, also when by an exception. `before`: the call of the executor and its addresses before the
// phase; without a call when there is no executor.
[[gnu::cold]] Status record_phase2(const DumpedData& before, const char* operator_name,
                                   const std::function<Status()>& phase);

// Makes the task record itself when it runs, if there is memory for that. `call` is what it was made from.
[[gnu::cold]] void record_task(Task& task, const std::shared_ptr<const Call>& call,
                               uint64_t stream_number) noexcept;

// Runs the body and drops its exceptions: what the recorder cannot do must not change what the program sees.
template <class Body>
void quietly(const Body& body) noexcept {
  try {
    body();
  } catch (const std::exception&) {
  }
}

}  // namespace openaclnn
