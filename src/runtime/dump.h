// Dumps of OPENACLNN_DUMP: writes the arguments of a call to a folder of its own, for `openaclnn check
// --replay`.
#pragma once

#include <array>
#include <string>

#include "runtime/call.h"
#include "runtime/call_record.h"

namespace openaclnn {

bool is_dumping();
// Returns whether all calls of the operator are dumped, not only those that fail.
bool is_selected_for_dump(const char* operator_name);

// Addresses of a call's tensors. They may be newer than those of phase 1.
struct DumpedData {
  const Call* call = nullptr;  // nullptr: phase 1 failed, and the addresses are not used
  const std::array<void*, kMaxParameters>* data = nullptr;
  void* const* elements = nullptr;  // addresses of list elements
};

// Writes call.json and one .npy file for each tensor that is read. Memory that cannot be read is reported in
// call.json and does not end the process.
void dump_call(const CallRecord& record, const char* operator_name, const std::string& reason,
               const DumpedData& data);

}  // namespace openaclnn
