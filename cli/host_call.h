// Calls with their data in host memory, for goldens, judges and replays.
#pragma once

#include "call.h"
#include "judge/call.h"

namespace openaclnn_cli {

// Returns the elements of a tensor.
openaclnn_verify::Array host_array(const LoadedTensor& tensor);

// Returns the call with these arguments, labelled with the operator's name.
openaclnn_judge::Call call_of(const openaclnn_verify::Description& description,
                              const LoadedArguments& arguments);

// The inverse: copies the tensors of a call to the device. Inputs without data become zeros.
LoadedArguments arguments_of(openaclnn_judge::Call call);

}  // namespace openaclnn_cli
