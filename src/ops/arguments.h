// The arguments of a phase 1, and how their handles are looked up.
//
// Each phase 1 lists its arguments once, in the order of its signature, with the member of Args that receives
// each:
//
//   [=](auto& arguments, EmbeddingArgs& args) {
//     arguments("weight", weight, args.weight);
//     arguments("indices", indices, args.indices);
//     arguments("out", out, args.out);
//   }
//
// The list is read up to three times: to find a NULL, to look up the handles, and to record the call.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "aclnn/aclnn_base.h"
#include "base/status.h"
#include "base/tensor_view.h"
#include "base/text.h"
#include "openaclnn/status.h"
#include "runtime/call_record.h"
#include "runtime/tensor.h"

namespace openaclnn {

// Returns 161002 with the pieces as its error message.
template <class... Pieces>
[[gnu::cold]] Status invalid(const Pieces&... pieces) {
  return {ACLNN_ERR_PARAM_INVALID, text(pieces...)};
}

// ---- What Args consist of. Numbers are members of their own types. ----

struct Argument : TensorDescription {
  const char* name = "";
  bool is_given = false;  // false for an optional tensor whose handle is NULL

  aclDataType dtype() const { return view.dtype; }
};

// A tensor whose handle is judged later than those of the other arguments, by the room.
struct LateArgument : Argument {
  Status found;
};

struct ListArgument {
  const char* name = "";
  std::shared_ptr<const HandleList> handles;  // nullptr if not given

  bool is_given() const { return handles != nullptr; }
};

using IntArray = std::shared_ptr<const Array<int64_t>>;
struct ArrayArgument {
  const char* name = "";
  IntArray values;  // nullptr if not given

  bool is_given() const { return values != nullptr; }
};

struct TextArgument {
  const char* name = "";
  const char* text = nullptr;  // the caller's; nullptr if not given
};

// ---- Lookups. Each checks that the handle is live. ----

// A handle with its name in error messages.
struct NamedTensor {
  const char* name;
  const aclTensor* handle;
};
[[gnu::cold]] Status not_live(const NamedTensor& tensor);

// Sets `argument` to the tensor's description. NULL means an optional tensor that is not given. Inline, since
// every call looks up each of its tensors.
inline Status look_up(const NamedTensor& tensor, Argument& argument) {
  argument.name = tensor.name;
  argument.is_given = tensor.handle != nullptr;
  if (!argument.is_given) return {};
  // Copied: this is faster than sharing the descriptor with a thread that destroys it.
  TensorDescription& description = argument;
  if (TensorTable::instance().read(tensor.handle, description)) [[likely]]
    return {};
  return not_live(tensor);
}
Status look_up(const char* name, const aclTensorList* handle, ListArgument& argument);
Status look_up(const char* name, const aclIntArray* handle, ArrayArgument& argument);

// ---- The three readers of a list of arguments ----

// Finds the first argument that is NULL and must not be.
class FindNull {
 public:
  void operator()(const char* name, const aclTensor* handle, const Argument&) {
    require(name, handle, "a tensor is required");
  }
  void operator()(const char* name, const aclTensorList* handle, const ListArgument&) {
    require(name, handle, "a tensor list is required");
  }
  template <class Value, class Number>
  requires std::is_arithmetic_v<Number>
  void operator()(const char*, Value, const Number&) {}

  // An argument that may be NULL, unless `requirement` is given: it says why this call needs the argument.
  void optional(const char* name, const void* handle, const auto&, const char* requirement = nullptr) {
    if (requirement != nullptr) require(name, handle, requirement);
  }

  Status status() const;

 private:
  void require(const char* name, const void* handle, const char* requirement) {
    if (handle != nullptr || name_ != nullptr) [[likely]]
      return;
    name_ = name;
    requirement_ = requirement;
  }

  const char* name_ = nullptr;
  const char* requirement_ = nullptr;
};

// Fills the members of Args, up to the first handle that is not live.
class LookUp {
 public:
  void operator()(const char* name, const aclTensor* handle, Argument& argument) {
    if (status_.ok()) [[likely]]
      status_ = look_up({name, handle}, argument);
  }
  void operator()(const char* name, const aclTensor* handle, LateArgument& argument) {
    argument.found = look_up({name, handle}, argument);
  }
  void operator()(const char* name, const aclTensorList* handle, ListArgument& argument) {
    if (status_.ok()) status_ = look_up(name, handle, argument);
  }
  void operator()(const char* name, const aclIntArray* handle, ArrayArgument& argument) {
    if (status_.ok()) status_ = look_up(name, handle, argument);
  }
  void operator()(const char* name, const char* text, TextArgument& argument) { argument = {name, text}; }
  template <class Value, class Number>
  requires std::is_arithmetic_v<Number>
  void operator()(const char*, Value value, Number& number) { number = value; }
  void optional(const char* name, auto handle, auto& argument, const char* = nullptr) {
    (*this)(name, handle, argument);
  }

  Status take_status() { return std::move(status_); }

 private:
  Status status_;
};

// Passes the arguments on to the record of a call.
class Record {
 public:
  explicit Record(CallRecord& record) : record_(record) {}

  void operator()(const char* name, auto value, const auto&) { record_(name, value); }
  void optional(const char* name, auto handle, const auto&, const char* = nullptr) { record_(name, handle); }

 private:
  CallRecord& record_;
};

// Fills Args: checks that no required handle is NULL, then that all are live.
template <class Args, class Signature>
Status look_up_all(const Signature& signature, Args& args) {
  FindNull null;
  signature(null, args);
  OPENACLNN_TRY(null.status());
  LookUp lookup;
  signature(lookup, args);
  return lookup.take_status();
}

// Copies the captured arguments, so that they have no address and calls that are not recorded keep them in
// registers.
template <class Args, class Signature>
[[gnu::noinline, gnu::cold]] std::shared_ptr<const CallRecord> make_record(const char* function,
                                                                           Signature signature) {
  const auto made = std::make_shared<CallRecord>(function);
  Args args = {};
  Record record(*made);
  signature(record, args);
  return made;
}

}  // namespace openaclnn
