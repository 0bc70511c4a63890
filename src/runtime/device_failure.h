// What a device throws when it cannot do what it was asked for. The wall (guard.h) turns it into a code and a sentence.
#pragma once

#include <exception>
#include <utility>

#include "base/status.h"

namespace openaclnn {

class DeviceFailure final : public std::exception {
 public:
  // Of one call: the code is the one that the wall has for failures of devices.
  explicit DeviceFailure(std::string sentence) : status_(0, std::move(sentence)) {}
  // Of every later call as well, with the same code.
  explicit DeviceFailure(Status status) : status_(std::move(status)) {}

  int code(int code_of_wall) const noexcept { return status_.code() != 0 ? status_.code() : code_of_wall; }
  const char* what() const noexcept override { return status_.sentence().c_str(); }

 private:
  Status status_;
};

}  // namespace openaclnn
