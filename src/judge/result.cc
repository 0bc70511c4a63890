// Names of results.
#include "judge/rules.h"

namespace openaclnn_judge {

const char* result_name(Result result) {
  switch (result) {
    case Result::skip: return "skip";
    case Result::pass: return "pass";
    case Result::warning: return "warning";
    default: return "error";
  }
}

}  // namespace openaclnn_judge
