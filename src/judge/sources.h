// The inputs of single elements of a call, and the faults to look for.
#pragma once

#include <string>
#include <vector>

#include "judge/call.h"
#include "verify/sources.h"

namespace openaclnn_judge {

// A call as the rooms take it.
class PreparedCall {
 public:
  explicit PreparedCall(const Call& call);

  // The results are valid as long as this object.
  openaclnn_verify::FindSources sources() const;
  std::vector<openaclnn_verify::Fault> faults() const;

 private:
  std::string room_;
  openaclnn_verify::GoldenCall call_;
};

}  // namespace openaclnn_judge
