// Small calls whose results are easy to compute by hand.
#pragma once

#include "judge/arrays.h"

namespace openaclnn_test {

using openaclnn_judge::Call;

// Rows of 2 numbers in 3 groups, the last of them empty.
inline Call bias_call() {
  Call call = call_of("aclnnGroupedBiasAddGradV2");
  add_input(call, "gradY", array_of(ACL_FLOAT, {5, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  add_input(call, "groupIdxOptional", array_of(ACL_INT64, {3}, {1, 5, 5}));
  return call;
}

inline Call ema_call() {
  Call call = call_of("aclnnApplyFusedEmaAdam");
  for (const char* const name : {"grad", "varRef", "mRef", "vRef", "sRef"})
    add_input(call, name, array_of(ACL_FLOAT, {2, 2}, {1, .5, .25, .125}));
  add_input(call, "step", array_of(ACL_INT64, {1}, {3}));
  return call;
}

inline Call list_call() {
  Call call = call_of("openaclnnApplyFusedEmaAdamList");
  for (const char* const name : {"grads", "varRefs", "mRefs", "vRefs", "sRefs"}) {
    add_input(call, name, array_of(ACL_FLOAT, {2}, {1, 2}));
    add_input(call, name, array_of(ACL_FLOAT, {}, {4}));
  }
  add_input(call, "step", array_of(ACL_INT64, {1}, {3}));
  add_input(call, "gradScaleOptional", array_of(ACL_FLOAT, {1}, {2}));
  return call;
}

inline Call compress_call() {
  Call call = call_of("aclnnNsaCompress");
  add_input(call, "input", array_of(ACL_FLOAT, {5, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  add_input(call, "weight", array_of(ACL_FLOAT, {3, 1}, {1, 10, 100}));
  call.values.integers["compressBlockSize"] = {3};
  call.values.integers["compressStride"] = {2};
  return call;
}

}  // namespace openaclnn_test
