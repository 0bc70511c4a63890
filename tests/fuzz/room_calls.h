// The calls that every operator of ops.def makes from the bytes of a fuzzer.
#pragma once

#include "fuzz/operator_call.h"

namespace openaclnn_test {

#define OPENACLNN_OPERATOR(folder, name) OperatorCall fuzz_call_of_##folder(Fuzz fuzz);
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR

using MakeCall = OperatorCall (*)(Fuzz fuzz);
inline constexpr MakeCall kMakeCalls[] = {
#define OPENACLNN_OPERATOR(folder, name) fuzz_call_of_##folder,
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR
};

}  // namespace openaclnn_test
