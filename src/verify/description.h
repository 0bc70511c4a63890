// Describes each function with a phase 1: its parameters, their roles, dtypes and defaults, which of them may
// share memory, and how results follow from the other arguments. The program's options, calls and replays, and tests of all operators are
// generated from it. A room lists its functions in verify/description.h. The kind of each parameter comes
// from the prototype.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "aclnn/aclnn_base.h"
#include "verify/case.h"
#include "verify/dtypes.h"

namespace openaclnn_verify {

// The kind of a parameter in the prototype.
enum class Kind { tensor, tensor_list, integers, real, integer, flag, text };

struct TensorShape {
  aclDataType dtype = ACL_DT_UNDEFINED;
  Shape dims;
};

// The arguments of one call by parameter name, without the elements of tensors. Missing arguments are NULL.
struct Arguments {
  std::map<std::string, std::vector<TensorShape>> tensors;  // one, or those of a list
  std::map<std::string, std::vector<int64_t>> integers;     // arrays, and numbers and flags as one integer
  std::map<std::string, double> reals;
  std::map<std::string, std::string> texts;

  bool has(const std::string& name) const { return tensors.contains(name); }
  // These throw std::invalid_argument with an error message if the argument is missing or has another rank.
  const TensorShape& tensor(const std::string& name) const;
  int64_t integer(const std::string& name) const;
  const Shape& dims_of_rank(const std::string& name, size_t rank) const;
};

// Returns the shape and dtype of a result. Throws std::invalid_argument with an error message if the other
// arguments determine none.
using Infer = std::function<TensorShape(const Arguments&)>;

// The dtypes that a tensor may have: those of a list, or the dtype of another parameter. An operator may restrict
// combinations further.
struct Dtypes {
  std::vector<aclDataType> accepted = {};
  std::string same_as = {};

  Dtypes() = default;
  Dtypes(aclDataType only) : accepted{only} {}
  template <size_t n>
  Dtypes(const std::array<aclDataType, n>& list) : accepted(list.begin(), list.end()) {}
};

struct Parameter {
  std::string name;
  Role role = Role::input;
  Dtypes dtypes = {};             // of tensors
  bool may_equal_output = false;  // this input may be the identical view of an output
  bool is_optional = false;
  std::string fallback = {};  // default of numbers and flags, as text; empty: required
  Infer infer = nullptr;      // of outputs
  Kind kind = Kind::tensor;   // from the prototype

  bool is_tensor() const { return kind == Kind::tensor || kind == Kind::tensor_list; }
  bool is_result() const { return role != Role::input; }
  // The name without the endings of its role: "v" for vRef, and for vRefs of the list operator.
  std::string short_name() const;
};

// The parameters of a room's list, in the order of the prototype.
namespace parameters {

Parameter read(const char* name, Dtypes dtypes = {});
Parameter updated(const char* name, Dtypes dtypes);               // in place
Parameter written(const char* name, Dtypes dtypes, Infer infer);  // an output
Parameter number(const char* name, const char* fallback = "");
Parameter optional(Parameter parameter);
Parameter may_equal_output(Parameter parameter);
Dtypes dtype_of(const char* name);
Infer like(const char* name);

}  // namespace parameters

struct Description {
  std::string function;  // "aclnnGroupedBiasAddGradV2"; phase 1 appends GetWorkspaceSize
  std::vector<Parameter> parameters;
  // `handles`: an aclTensor*, aclTensorList*, aclIntArray* or NULL for each parameter, NULL for numbers and texts.
  std::function<aclnnStatus(std::span<void* const> handles, const Arguments&, uint64_t* workspace_bytes,
                            aclOpExecutor** executor)>
      phase1;
  Phase2 phase2;
  std::string room = {};  // "grouped_bias_add_grad": several functions may share one

  // Returns the name without aclnn or openaclnn: "GroupedBiasAddGradV2".
  std::string name() const;
  const Parameter* find(const std::string& parameter) const;
  // Returns the dtypes of a tensor, also if they are those of another parameter.
  const std::vector<aclDataType>& dtypes_of(const Parameter& parameter) const;
};

// Returns the arguments of a call in the form of a recorded call. `arguments` has every number of the function.
RecordedCall recorded_call(const Description& description, const Arguments& arguments);

template <class T>
constexpr Kind kind_of() {
  using Pointed = std::remove_const_t<std::remove_pointer_t<T>>;
  if constexpr (std::is_same_v<Pointed, aclTensor>) return Kind::tensor;
  if constexpr (std::is_same_v<Pointed, aclTensorList>) return Kind::tensor_list;
  if constexpr (std::is_same_v<Pointed, aclIntArray>) return Kind::integers;
  if constexpr (std::is_same_v<T, char*>) return Kind::text;
  if constexpr (std::is_same_v<T, bool>) return Kind::flag;
  if constexpr (std::is_floating_point_v<T>) return Kind::real;
  static_assert(std::is_pointer_v<T> || std::is_arithmetic_v<T>);
  return Kind::integer;
}

void require_dtypes(const char* function, std::span<const Parameter> list);

// Converts the argument to the function's type.
template <class T>
T argument(const Parameter& parameter, void* handle, const Arguments& arguments) {
  if constexpr (kind_of<T>() == Kind::text) {
    const auto text = arguments.texts.find(parameter.name);
    return text == arguments.texts.end() ? nullptr : const_cast<char*>(text->second.c_str());
  } else if constexpr (std::is_pointer_v<T>) {
    return static_cast<T>(handle);
  } else if constexpr (kind_of<T>() == Kind::real) {
    return static_cast<T>(arguments.reals.at(parameter.name));
  } else {
    return static_cast<T>(arguments.integer(parameter.name));
  }
}

// The last two arguments of every phase 1 receive the workspace size and the executor. Throws
// std::logic_error if the list is not as long as the prototype, or a tensor has no dtypes.
template <class... Types>
Description describe(const char* function, aclnnStatus (*phase1)(Types...), Phase2 phase2,
                     std::vector<Parameter> list) {
  using All = std::tuple<Types...>;
  constexpr size_t kCount = sizeof...(Types) - 2;
  if (list.size() != kCount) {
    throw std::logic_error(std::string(function) + " has " + std::to_string(kCount) +
                           " parameters, its description " + std::to_string(list.size()));
  }
  return [&]<size_t... k>(std::index_sequence<k...>) {
    ((list[k].kind = kind_of<std::tuple_element_t<k, All>>()), ...);
    require_dtypes(function, list);
    const auto call = [phase1, list](std::span<void* const> handles, const Arguments& arguments,
                                     uint64_t* workspace_bytes, aclOpExecutor** executor) {
      return phase1(argument<std::tuple_element_t<k, All>>(list[k], handles[k], arguments)...,
                    workspace_bytes, executor);
    };
    return Description{function, list, call, phase2};
  }
  (std::make_index_sequence<kCount>());
}

}  // namespace openaclnn_verify
