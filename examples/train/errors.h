// The two ways this program ends early; main.cc turns each into one sentence and an exit code.
#pragma once

#include <stdexcept>

namespace train {

// The user gave something that cannot work (exit code 2, nothing has been written).
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The run itself failed: an operator returned an error, left its promise, or a result could not be
// written (exit code 1).
struct RunError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace train
