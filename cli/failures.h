// How a command says that it cannot go on: with one sentence, and with the exit code that belongs to its kind.
#pragma once

#include <stdexcept>
#include <string>

#include "base/printable.h"

namespace openaclnn_cli {

enum ExitCode {
  kFine = 0,      // everything asked for was done, and nothing is wrong
  kProblem = 1,   // it was done and something is wrong, or it could not be done
  kBadInput = 2,  // an argument or a file is not what it must be; nothing was written
};

// What the user gave is not what it must be. The sentence is all that is printed.
class BadInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Something that was asked for failed although the input is fine.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using openaclnn::printable;

// A name in a sentence, cut: a hostile file may have long ones.
inline std::string shown(const std::string& name) {
  return printable(name.size() > 80 ? name.substr(0, 80) + "…" : name);
}

}  // namespace openaclnn_cli
