// Exit codes of commands, and the exceptions that lead to them.
#pragma once

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

}  // namespace openaclnn_cli
