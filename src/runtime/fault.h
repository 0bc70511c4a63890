// Stores faults per stream. A synchronising call returns each of them once.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/fault.h"
#include "base/status.h"

namespace openaclnn {

// Formats `value` or `real_value` for error messages.
std::string value_text(const Fault& fault);

using DescribeFunction = std::string (*)(const Fault& fault);

// The first unreported fault of a stream, and the number of later tasks with faults. The error message is
// built only when it is requested. Recording must not fail: it happens on a worker, where an allocation
// failure cannot be reported.
class FaultCell {
 public:
  explicit FaultCell(uint64_t stream_number) : stream_number_(stream_number) {}

  void record(uint64_t task_number, const char* operator_name, DescribeFunction describe,
              const Fault& fault) noexcept;

  uint64_t stream_number() const { return stream_number_; }
  bool filled() const noexcept { return filled_.load(std::memory_order_acquire); }

  // Returns the fault (507035) and clears the cell; succeeds if there is no fault, or none up to task
  // `last_task`. If the message cannot be allocated, it throws and keeps the fault.
  Status take(uint64_t last_task = UINT64_MAX);

 private:
  const uint64_t stream_number_;
  uint64_t task_number_ = 0;
  const char* operator_name_ = "";  // empty if the operator's own function reports the fault
  DescribeFunction describe_ = nullptr;
  Fault fault_;
  std::atomic<bool> filled_{
      false};  // changed under the lock, read without it: hardly any cell ever holds a fault
  uint64_t further_tasks_ = 0;
};

}  // namespace openaclnn
