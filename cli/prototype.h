// From a prototype to a description: the compiler knows what kind each argument is and how to pass it.
#pragma once

#include <fmt/core.h>

#include <array>
#include <cassert>
#include <tuple>
#include <type_traits>
#include <utility>

#include "operators.h"
#include "program.h"

namespace openaclnn_cli {

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

// The argument as the function takes it. Handles were made before, in the order of the parameters.
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
    return static_cast<T>(arguments.integers.at(parameter.name).at(0));
  }
}

// The last two arguments of every phase 1 receive the workspace's size and the executor.
template <class... Arguments_>
Description describe(const char* name, const char* folder, aclnnStatus (*phase1)(Arguments_...),
                     decltype(Description::phase2) phase2, std::vector<Parameter> parameters) {
  using All = std::tuple<Arguments_...>;
  constexpr size_t kCount = sizeof...(Arguments_) - 2;
  if (parameters.size() != kCount)
    throw Failure(fmt::format("{} has {} parameters, its description {}", name, kCount, parameters.size()));
  return [&]<size_t... k>(std::index_sequence<k...>) {
    ((parameters[k].kind = kind_of<std::tuple_element_t<k, All>>()), ...);
    const auto call = [phase1, parameters](std::span<void* const> handles, const Arguments& arguments,
                                           uint64_t* workspace_bytes, aclOpExecutor** executor) {
      return phase1(argument<std::tuple_element_t<k, All>>(parameters[k], handles[k], arguments)...,
                    workspace_bytes, executor);
    };
    return Description{name, folder, parameters, call, phase2};
  }
  (std::make_index_sequence<kCount>());
}

}  // namespace openaclnn_cli
