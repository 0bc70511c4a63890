// The exception of readers of dumps for valid calls that cannot be judged.
#pragma once

#include <stdexcept>

namespace openaclnn_judge {

// The error message is the reason: "none of its results was saved".
class NotJudged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace openaclnn_judge
