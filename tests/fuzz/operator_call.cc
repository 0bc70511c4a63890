// Runs the two phases of a call of the fuzzer, and compares codes, error messages and every element.
#include "fuzz/operator_call.h"

#include "acl/acl.h"

namespace openaclnn_test {

namespace {

Descriptor describe(const FuzzTensor& tensor) {
  const HostTensor& host = tensor.host;
  return Descriptor(aclCreateTensor(host.dims().data(), host.dims().size(), host.dtype(),
                                    tensor.has_strides ? host.view().strides.data() : nullptr,
                                    host.view().offset, ACL_FORMAT_ND, host.dims().data(), host.dims().size(),
                                    host.data()));
}

void require_code(int got, int wanted, const char* where) {
  if (got == wanted) return;
  found(std::string(where) + " returned " + std::to_string(got) + ", must be " + std::to_string(wanted) +
        ": " + take_error_text());
}

void compare(const std::vector<std::byte>& got, const std::vector<std::byte>& wanted, size_t tensor) {
  if (got == wanted) return;
  size_t at = 0;
  while (at < got.size() && at < wanted.size() && got[at] == wanted[at]) ++at;
  found("tensor " + std::to_string(tensor) + " is wrong at byte " + std::to_string(at) + " of " +
        std::to_string(got.size()));
}

}  // namespace

void run_and_compare(const OperatorCall& call, Memory& memory) {
  constexpr int kFault = 507035;
  std::vector<std::vector<std::byte>> before;
  for (const FuzzTensor& tensor : call.tensors) before.push_back(tensor.host.all_bytes());

  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
  {
    std::vector<Descriptor> descriptors;
    std::vector<aclTensor*> handles;
    for (const FuzzTensor& tensor : call.tensors) {
      descriptors.push_back(describe(tensor));
      handles.push_back(descriptors.back().get());
    }
    require_code(call.phase1(handles, &workspace_bytes, &executor), 0, "phase 1");
  }
  const FuzzMode mode = fuzz_mode();
  const bool is_found = !call.fault.empty() && mode != FuzzMode::silent;
  const bool is_strict = mode == FuzzMode::strict;
  void* const workspace = memory.workspace(workspace_bytes);
  require_code(call.phase2(workspace, workspace_bytes, executor, nullptr), is_found && is_strict ? kFault : 0,
               "phase 2");
  require_code(aclrtSynchronizeStream(nullptr), is_found && !is_strict ? kFault : 0,
               "aclrtSynchronizeStream");
  const std::string text = take_error_text();
  if (is_found ? text.find(call.fault) == std::string::npos : !text.empty())
    found("the error text is '" + text + "', must hold '" + call.fault + "'");

  const bool writes = call.fault.empty() || (call.writes_despite_fault && !is_strict);
  for (size_t k = 0; k < call.tensors.size(); ++k) {
    if (k == call.judged && writes) continue;
    const bool is_written = writes && k < call.wanted.size() && call.tensors[k].role != Role::input;
    compare(call.tensors[k].host.all_bytes(), is_written ? call.wanted[k] : before[k], k);
  }
  if (writes && call.judge) {
    if (const std::string why = call.judge(); !why.empty()) found(why);
  }
}

}  // namespace openaclnn_test
