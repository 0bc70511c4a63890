// The exceptions that a device throws when an operation fails. The wall (guard.h) converts them to a code and an
// error message.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "base/status.h"

namespace openaclnn {

class DeviceFailure final : public std::exception {
 public:
  // A failure of one call. The wall provides the code for device failures.
  explicit DeviceFailure(std::string sentence) : sentence_(std::move(sentence)) {}
  // A failure that every later call repeats with the same code.
  explicit DeviceFailure(const Status& status) : code_(status.code()), sentence_(status.sentence()) {}

  int code(int code_of_wall) const noexcept { return code_ != 0 ? code_ : code_of_wall; }
  const char* what() const noexcept override { return sentence_.c_str(); }

 private:
  int code_ = 0;
  std::string sentence_;
};

// Memory of a device, or of its driver, is exhausted. The wall provides the code for failed allocations.
class DeviceMemoryFailure final : public std::bad_alloc {
 public:
  explicit DeviceMemoryFailure(std::string sentence) : sentence_(std::move(sentence)) {}

  const char* what() const noexcept override { return sentence_.c_str(); }

 private:
  std::string sentence_;
};

}  // namespace openaclnn
