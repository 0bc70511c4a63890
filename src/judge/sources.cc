// Hands a call to the sources and faults of its room.
#include "judge/sources.h"

namespace openaclnn_judge {

PreparedCall::PreparedCall(const Call& call) : room_(call.description->room), call_(golden_call_of(call)) {}

openaclnn_verify::FindSources PreparedCall::sources() const {
#define OPENACLNN_OPERATOR(folder, name) \
  if (room_ == #folder) return openaclnn_verify::sources_of_##folder(call_);
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR
  return [](const openaclnn_verify::Place&) { return openaclnn_verify::ElementSources(); };
}

std::vector<openaclnn_verify::Fault> PreparedCall::faults() const {
#define OPENACLNN_OPERATOR(folder, name) \
  if (room_ == #folder) return openaclnn_verify::faults_of_##folder(call_);
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR
  return {};
}

}  // namespace openaclnn_judge
