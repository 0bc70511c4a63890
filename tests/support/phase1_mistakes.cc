// Makes the mistakes of every operator from the description of a valid call.
#include "support/phase1_mistakes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <stdexcept>
#include <utility>

#include "support/verify.h"

namespace openaclnn_test {

using openaclnn_verify::Description;
using openaclnn_verify::Kind;
using openaclnn_verify::Parameter;

namespace {

Mistake of_tensor(Rule rule, std::string what, Part part, std::function<void(TensorArgument&)> apply,
                  std::vector<std::string> sentence) {
  return bad_call(
      rule, std::move(what), {part},
      [index = part.index, apply = std::move(apply)](CallArguments& a) { apply(a.tensors[index]); },
      std::move(sentence));
}

// Bad handles, with the array at its position among the tensors.
void add_bad_handles(const CallArguments& call, std::vector<Mistake>& list) {
  constexpr std::pair<Handle, const char*> kStates[] = {
      {Handle::stale, "a destroyed handle"},
      {Handle::foreign_bits, "a handle that no function returned"},
      {Handle::other_kind, "a handle of another kind"}};
  for (size_t k = 0; k <= call.tensors.size(); ++k) {
    if (call.array && call.array->before == k) {
      for (const auto& [state, rule] : kStates) {
        list.push_back(bad_call(kHandleRule, rule, {{Part::array_handle, 0}},
                                [state = state](CallArguments& a) { a.array->handle = state; },
                                {call.array->name + " is not a live "}));
      }
    }
    if (k == call.tensors.size()) break;
    for (const auto& [state, rule] : kStates) {
      list.push_back(of_tensor(kHandleRule, rule, {Part::handle, k},
                               [state = state](TensorArgument& t) { t.handle = state; },
                               {call.tensors[k].name + " is not a live tensor (0x"}));
    }
  }
}

void add_bad_extents(const CallArguments& call, std::vector<Mistake>& list) {
  struct Extent {
    const char* rule;
    Shape dims;
    std::vector<std::string> sentence;
  };
  const Extent extents[] = {{"rank > 8", Shape(9, 1), {"has rank 9", "8"}},
                            {"negative dim", {-1, 8}, {"negative"}},
                            {"overflow", {int64_t{1} << 62, 4}, {"64-bit"}}};
  for (size_t k = 0; k < call.tensors.size(); ++k) {
    if (!call.tensors[k].is_given()) continue;
    for (const Extent& extent : extents) {
      std::vector<std::string> sentence = extent.sentence;
      sentence.push_back(call.tensors[k].name + " ");
      list.push_back(of_tensor(
          kExtentRule, extent.rule, {Part::dims, k},
          [dims = extent.dims](TensorArgument& t) { t.dims = dims; }, std::move(sentence)));
    }
  }
}

// The contiguous strides, except that all steps along the first dim lead to the same address.
Shape repeating_strides(const Shape& dims) {
  Shape strides(dims.size(), 1);
  for (size_t k = dims.size() - 1; k > 0; --k) strides[k - 1] = strides[k] * dims[k];
  strides[0] = 0;
  return strides;
}

}  // namespace

Schema schema_of(const Description& description, CallArguments valid, const FixedFlags& fixed) {
  const auto count = [&](Kind kind) {
    return static_cast<size_t>(std::ranges::count(description.parameters, kind, &Parameter::kind));
  };
  const bool has_all_values =
      valid.tensors.size() == count(Kind::tensor) + count(Kind::tensor_list) &&
      valid.array.has_value() == (count(Kind::integers) > 0) &&
      valid.layout.has_value() == (count(Kind::text) > 0) && valid.numbers.size() == count(Kind::integer) &&
      valid.reals.size() == count(Kind::real) && valid.flags.size() + fixed.size() == count(Kind::flag);
  if (!has_all_values) throw std::logic_error("the schema of " + description.function + " has other values");
  Schema made = {.function = description.function + "GetWorkspaceSize",
                 .valid = std::move(valid),
                 .phase1 = phase1_of(description, fixed),
                 .fixed = fixed};
  std::map<std::string, size_t> tensor_at;
  for (const Parameter& parameter : description.parameters) {
    if (parameter.is_tensor()) tensor_at.emplace(parameter.name, tensor_at.size());
  }
  size_t next = 0;
  for (const Parameter& parameter : description.parameters) {
    if (parameter.is_tensor()) {
      // NULL is not an element of a list.
      const bool is_list = parameter.kind == Kind::tensor_list;
      TensorArgument& tensor = made.valid.tensors[next++];
      tensor.name = parameter.name + (is_list ? "[0]" : "");
      tensor.role = parameter.role;
      tensor.is_optional = parameter.is_optional || is_list;
      tensor.dtypes = description.dtypes_of(parameter);
      tensor.dtype_of =
          tensor_at[parameter.dtypes.same_as.empty() ? parameter.name : parameter.dtypes.same_as];
    } else if (parameter.kind == Kind::integers) {
      made.valid.array->name = parameter.name;
      made.valid.array->before = next;
    } else if (parameter.kind == Kind::integer) {
      made.attributes.push_back(made.number_names.size());
      made.number_names.push_back(parameter.name);
    }
  }
  return made;
}

void append(std::vector<Mistake>& mistakes, std::vector<Mistake> more) {
  std::ranges::move(more, std::back_inserter(mistakes));
}

const char* rule_name(Rule rule) {
  static constexpr const char* kNames[] = {"out pointers",      "required tensors", "handles",    "dtypes",
                                           "extents",           "shapes",           "attributes", "formats",
                                           "distinct elements", "host arrays",      "limits"};
  return kNames[rule - kOutPointerRule];
}

std::string list_text(const Shape& values) {
  std::string text;
  for (const int64_t value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

bool has_dtype(const TensorArgument& tensor) { return std::ranges::count(tensor.dtypes, tensor.dtype) > 0; }
std::string says_dtype(const TensorArgument& tensor) { return tensor.name + " has dtype "; }
std::string says_shape(const TensorArgument& tensor) {
  return tensor.name + " has shape " + list_text(tensor.dims);
}

Mistake bad_call(Rule rule, std::string what, std::vector<Part> parts,
                 std::function<void(CallArguments&)> apply, std::vector<std::string> sentence) {
  return {rule, std::move(what), std::move(sentence), std::move(parts), std::move(apply)};
}
Mistake bad_dtype(std::string what, size_t tensor, aclDataType dtype, std::vector<std::string> sentence) {
  return of_tensor(
      kDtypeRule, std::move(what), {Part::dtype, tensor}, [dtype](TensorArgument& t) { t.dtype = dtype; },
      std::move(sentence));
}
Mistake bad_dims(std::string what, size_t tensor, Shape dims, std::vector<std::string> sentence) {
  return of_tensor(
      kShapeRule, std::move(what), {Part::dims, tensor},
      [dims = std::move(dims)](TensorArgument& t) { t.dims = dims; }, std::move(sentence));
}
Mistake bad_number(Rule rule, std::string what, size_t number, int64_t value,
                   std::vector<std::string> sentence) {
  return bad_call(
      rule, std::move(what), {{Part::number, number}},
      [number, value](CallArguments& a) { a.numbers[number] = value; }, std::move(sentence));
}
Mistake bad_layout(std::string what, std::string text, std::vector<std::string> sentence) {
  return bad_call(
      kAttributeRule, std::move(what), {{Part::layout, 0}},
      [text = std::move(text)](CallArguments& a) { a.layout = text; }, std::move(sentence));
}
Mistake bad_array(std::string what, std::vector<int64_t> values, std::vector<std::string> sentence) {
  return bad_call(
      kArrayRule, std::move(what), {{Part::array, 0}},
      [values = std::move(values)](CallArguments& a) { a.array->values = values; }, std::move(sentence));
}

std::vector<Mistake> all_mistakes(const Schema& test) {
  const CallArguments& call = test.valid;
  std::vector<Mistake> list;
  list.push_back(bad_call(kOutPointerRule, "workspaceSize pointer NULL", {{Part::workspace_pointer, 0}},
                          [](CallArguments& a) { a.has_workspace_pointer = false; },
                          {"workspaceSize is NULL"}));
  list.push_back(bad_call(kOutPointerRule, "executor pointer NULL", {{Part::executor_pointer, 0}},
                          [](CallArguments& a) { a.has_executor_pointer = false; }, {"executor is NULL"}));
  for (size_t k = 0; k < call.tensors.size(); ++k) {
    if (call.tensors[k].is_optional) continue;
    list.push_back(of_tensor(kRequiredRule, "required tensor NULL", {Part::handle, k},
                             [](TensorArgument& t) { t.handle = Handle::null; },
                             {call.tensors[k].name + " is NULL", "required"}));
  }
  add_bad_handles(call, list);
  add_bad_extents(call, list);
  for (size_t k = 0; k < call.tensors.size(); ++k) {
    if (!call.tensors[k].is_given()) continue;
    list.push_back(of_tensor(kFormatRule, "storage format", {Part::format, k},
                             [](TensorArgument& t) { t.format = ACL_FORMAT_FRACTAL_NZ; },
                             {call.tensors[k].name + " has format 29", "ND"}));
  }
  for (size_t k = 0; k < call.tensors.size(); ++k) {
    if (call.tensors[k].role == Role::input || !call.tensors[k].is_given()) continue;
    const Shape strides = repeating_strides(call.tensors[k].dims);
    list.push_back(of_tensor(kDistinctRule, "an output overlaps itself", {Part::dims, k},
                             [strides](TensorArgument& t) { t.strides = strides; },
                             {call.tensors[k].name + " has shape " + list_text(call.tensors[k].dims),
                              "strides " + list_text(strides), "distinct"}));
  }
  list.insert(list.end(), test.mistakes.begin(), test.mistakes.end());
  std::stable_sort(list.begin(), list.end(),
                   [](const Mistake& a, const Mistake& b) { return a.rule < b.rule; });
  return list;
}

}  // namespace openaclnn_test
