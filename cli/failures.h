// Exit codes of commands, and the exceptions that lead to them.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "files/errors.h"

namespace openaclnn_cli {

enum ExitCode {
  kFine = 0,      // success
  kProblem = 1,   // the command found a problem, or could not be completed (Failure)
  kBadInput = 2,  // an argument or a file is invalid; nothing was written (BadInput)
};

using openaclnn_files::BadInput;
using openaclnn_files::Failure;
using openaclnn_files::printable;
using openaclnn_files::shown;

// Returns the error message of an exception. Failed allocations have none of their own.
inline std::string error_message_of(const std::exception& error) {
  const bool lacks_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  return lacks_memory ? "there isn't enough memory" : error.what();
}

}  // namespace openaclnn_cli
