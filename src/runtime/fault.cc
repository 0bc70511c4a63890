// The fault cell. Faults are rare, so all cells share one lock. This also keeps fork() simple.
#include "runtime/fault.h"

#include <cmath>
#include <mutex>
#include <utility>

#include "acl/acl_rt.h"
#include "base/text.h"
#include "runtime/fork.h"

namespace openaclnn {

namespace {

ForkSafeMutex* const cell_mutex = new ForkSafeMutex(LockRank::faults);

}  // namespace

std::string value_text(const Fault& fault) {
  if (!fault.is_real) return std::to_string(fault.value);
  return std::isnan(fault.real_value) ? "nan" : number_text(fault.real_value, 9);
}

void FaultCell::record(uint64_t task_number, const char* operator_name, DescribeFunction describe,
                       const Fault& fault) noexcept {
  const std::lock_guard lock(*cell_mutex);
  if (filled()) {
    ++further_tasks_;
    return;
  }
  task_number_ = task_number;
  operator_name_ = operator_name;
  describe_ = describe;
  fault_ = fault;
  further_tasks_ = 0;
  filled_.store(true, std::memory_order_release);
}

Status FaultCell::take(uint64_t last_task) {
  if (!filled()) return {};
  const std::lock_guard lock(*cell_mutex);
  if (!filled() || task_number_ > last_task) return {};
  const std::string task = text("stream ", stream_number_, ", task ", task_number_);
  // Without a name, the operator's own function reports the fault, and its error message starts with the
  // name.
  std::string sentence =
      text(operator_name_[0] == '\0' ? task : text(operator_name_, " (", task, ")"), ": ", describe_(fault_));
  if (further_tasks_ > 0) {
    sentence +=
        text("; ", further_tasks_, further_tasks_ == 1 ? " further task" : " further tasks", " faulted");
  }
  Status found(ACL_ERROR_RT_VECTOR_CORE_EXCEPTION, std::move(sentence));
  filled_.store(false, std::memory_order_release);
  return found;
}

}  // namespace openaclnn
