// The two errors that end this program early; main.cc converts each into one error message and an
// exit code.
#pragma once

#include <stdexcept>

namespace train {

// Invalid input from the user (exit code 2, nothing has been written).
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The run itself failed: an operator returned an error or broke its promise, or a result could not
// be written (exit code 1).
struct RunError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace train
