// Dumps of OPENACLNN_DUMP: writes the arguments of a call to a folder of its own, for `openaclnn check
// --replay`.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "runtime/call.h"
#include "runtime/call_record.h"

namespace openaclnn {

bool is_dumping();
// Returns whether OPENACLNN_DUMP names the call's function or operator, with or without "aclnn". Then it is dumped
// even if it succeeds.
bool is_selected_for_dump(const Call& call);

// Addresses of a call's tensors. They may be newer than those of phase 1.
struct DumpedData {
  const Call* call = nullptr;  // nullptr: phase 1 failed, and the addresses are not used
  const std::array<void*, kMaxParameters>* data = nullptr;
  void* const* elements = nullptr;  // addresses of list elements
};

// Writes call.json and one .npy file for each tensor that is read. Memory that cannot be read is reported in
// call.json and does not end the process.
void dump_call(const CallRecord& record, std::string_view function, const std::string& reason,
               const DumpedData& data);

}  // namespace openaclnn
