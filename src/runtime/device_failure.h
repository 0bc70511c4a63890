// The exception that a device throws when an operation fails. The wall (guard.h) converts it to a code and an
// error message.
#pragma once

#include <exception>
#include <utility>

#include "base/status.h"

namespace openaclnn {

class DeviceFailure final : public std::exception {
 public:
  // A failure of one call. The wall provides the code for device failures.
  explicit DeviceFailure(std::string sentence) : status_(0, std::move(sentence)) {}
  // A failure that every later call repeats with the same code.
  explicit DeviceFailure(Status status) : status_(std::move(status)) {}

  int code(int code_of_wall) const noexcept { return status_.code() != 0 ? status_.code() : code_of_wall; }
  const char* what() const noexcept override { return status_.sentence().c_str(); }

 private:
  Status status_;
};

}  // namespace openaclnn
