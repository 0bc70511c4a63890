// Creates objects and handles for one call of phase 1.
#include "support/phase1_call.h"

#include <memory>

namespace openaclnn_test {

using openaclnn_verify::Description;
using openaclnn_verify::Kind;
using openaclnn_verify::Parameter;

namespace {

using OwnedArray = std::unique_ptr<aclIntArray, decltype(&aclDestroyIntArray)>;

OwnedArray make_array(const std::vector<int64_t>& values) {
  return OwnedArray(aclCreateIntArray(values.data(), values.size()), aclDestroyIntArray);
}

Descriptor make_tensor(const TensorArgument& t) {
  return Descriptor(aclCreateTensor(t.dims.data(), t.dims.size(), t.dtype,
                                    t.strides.empty() ? nullptr : t.strides.data(), t.offset, t.format,
                                    t.dims.data(), t.dims.size(), nullptr));
}

// Returns the bits to pass for an object with the handle `live`, which is destroyed before the call if it
// is to be stale.
template <class Object>
Object* handle_bits(Handle state, Object* live, void* of_other_kind) {
  switch (state) {
    case Handle::null: return nullptr;
    case Handle::foreign_bits: return reinterpret_cast<Object*>(uintptr_t{0x123456789ABCDEF0});
    case Handle::other_kind: return static_cast<Object*>(of_other_kind);
    default: return live;
  }
}

}  // namespace

CallHandles values_of(const CallArguments& arguments) {
  CallHandles call;
  call.numbers = arguments.numbers;
  call.reals = arguments.reals;
  call.flags = arguments.flags;
  return call;
}

DescribedCall described_call(const Description& description, const CallHandles& call,
                             const FixedFlags& fixed) {
  DescribedCall made;
  size_t tensor = 0, number = 0, real = 0, flag = 0;
  for (const Parameter& parameter : description.parameters) {
    const std::string& name = parameter.name;
    void*& handle = made.handles.emplace_back(nullptr);
    switch (parameter.kind) {
      case Kind::tensor:
      case Kind::tensor_list: handle = call.tensors.at(tensor++); break;
      case Kind::integers: handle = call.array; break;
      case Kind::integer: made.arguments.integers[name] = {call.numbers.at(number++)}; break;
      case Kind::real: made.arguments.reals[name] = call.reals.at(real++); break;
      case Kind::flag:
        made.arguments.integers[name] = {fixed.contains(name) ? fixed.at(name) : call.flags.at(flag++)};
        break;
      case Kind::text:
        if (call.layout != nullptr) made.arguments.texts[name] = call.layout;
        break;
    }
  }
  return made;
}

Phase1Call phase1_of(const Description& description, const FixedFlags& fixed) {
  return [=](const CallHandles& call, uint64_t* workspace_bytes, aclOpExecutor** executor) {
    const DescribedCall made = described_call(description, call, fixed);
    return description.phase1(made.handles, made.arguments, workspace_bytes, executor);
  };
}

Outcome run_phase1(const CallArguments& arguments, const Phase1Call& phase1) {
  const OwnedArray some_array = make_array({});
  const Descriptor some_tensor = make_tensor({});
  std::vector<Descriptor> tensors;
  OwnedArray array(nullptr, aclDestroyIntArray);

  CallHandles handles = values_of(arguments);
  for (const TensorArgument& argument : arguments.tensors) {
    Descriptor made = make_tensor(argument);
    handles.tensors.push_back(handle_bits(argument.handle, made.get(), some_array.get()));
    if (argument.handle == Handle::live) tensors.push_back(std::move(made));
  }
  if (arguments.array) {
    array = make_array(arguments.array->values);
    handles.array = handle_bits(arguments.array->handle, array.get(), some_tensor.get());
    if (arguments.array->handle == Handle::stale) array.reset();
  }
  std::string layout = arguments.layout.value_or("");
  if (arguments.layout) handles.layout = layout.data();
  take_error_text();

  constexpr uint64_t kSentinel = 0x0123456789ABCDEF;
  uint64_t workspace_bytes = kSentinel;
  aclOpExecutor* const sentinel = reinterpret_cast<aclOpExecutor*>(uintptr_t{0x5A5A5A5A});
  aclOpExecutor* executor = sentinel;
  Outcome outcome;
  outcome.phase1 = phase1(handles, arguments.has_workspace_pointer ? &workspace_bytes : nullptr,
                          arguments.has_executor_pointer ? &executor : nullptr);
  outcome.error = take_error_text();
  outcome.out_values_untouched = workspace_bytes == kSentinel && executor == sentinel;
  outcome.workspace_bytes = workspace_bytes;
  if (outcome.phase1 == 0) aclDestroyAclOpExecutor(executor);
  return outcome;
}

}  // namespace openaclnn_test
