// Errors of commands: an exception with one error message and the exit code of its kind.
#pragma once

#include <stdexcept>
#include <string>

#include "base/printable.h"

namespace openaclnn_cli {

enum ExitCode {
  kFine = 0,      // success
  kProblem = 1,   // the command found a problem, or could not be completed
  kBadInput = 2,  // an argument or a file is invalid; nothing was written
};

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

}  // namespace openaclnn_cli
