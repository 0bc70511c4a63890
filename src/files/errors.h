// Errors of readers of files and of commands: exceptions that carry one error message.
#pragma once

#include <stdexcept>
#include <string>

#include "base/printable.h"

namespace openaclnn_files {

// Invalid input from the user. Only the error message is printed.
class BadInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A failure despite valid input.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using openaclnn::printable;

// Truncates a name for an error message, because hostile files may contain long names.
inline std::string shown(const std::string& name) {
  return printable(name.size() > 80 ? name.substr(0, 80) + "…" : name);
}

}  // namespace openaclnn_files
