// The dumps of OPENACLNN_DUMP: the arguments of a call in a folder of its own, for `openaclnn check --replay`.
#pragma once

#include <array>
#include <string>

#include "runtime/call.h"
#include "runtime/call_record.h"

namespace openaclnn {

bool is_dumping();
// Whether every call of the operator is kept, not only those that fail.
bool is_selected_for_dump(const char* operator_name);

// Memory of a call's tensors: addresses may be newer than those of phase 1.
struct DumpedData {
  const Call* call = nullptr;  // nullptr: phase 1 failed, data is not looked at
  const std::array<void*, kMaxParameters>* data = nullptr;
  void* const* elements = nullptr;  // of lists
};

// Writes call.json and one .npy file for each tensor that is read. Memory that cannot be read is said to be so; it does not end the
// process.
void dump_call(const CallRecord& record, const char* operator_name, const std::string& reason,
               const DumpedData& data);

}  // namespace openaclnn
