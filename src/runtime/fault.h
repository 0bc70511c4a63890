// Where faults go: they are recorded per stream and returned once, by a synchronize.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/fault.h"

namespace openaclnn {

// `value` or `real_value`, for sentences.
std::string value_text(const Fault& fault);

using DescribeFunction = std::string (*)(const Fault& fault);

// The first unreported fault of a stream, and how many further tasks faulted since. The sentence is made when it is asked
// for: recording must not fail, and it happens on a worker where nobody could report an allocation failure.
class FaultCell {
 public:
  explicit FaultCell(uint64_t stream_number) : stream_number_(stream_number) {}

  void record(uint64_t task_number, const char* operator_name, DescribeFunction describe,
              const Fault& fault) noexcept;

  uint64_t stream_number() const { return stream_number_; }
  bool filled() const noexcept { return filled_.load(std::memory_order_acquire); }

  // The sentence to report, and clears the cell; nullopt when there is none, or none up to task `last_task`. When memory for
  // the sentence is lacking it throws and keeps the record.
  std::optional<std::string> take(uint64_t last_task = UINT64_MAX);

 private:
  const uint64_t stream_number_;
  uint64_t task_number_ = 0;
  const char* operator_name_ = "";  // empty: the caller is the operator's own function
  DescribeFunction describe_ = nullptr;
  Fault fault_;
  std::atomic<bool> filled_{
      false};  // changed under the lock; read without it, since hardly any cell is ever filled
  uint64_t further_tasks_ = 0;
};

}  // namespace openaclnn
