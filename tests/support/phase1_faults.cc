// Faults that every operator has, made from the description of a valid call, and the loops over all faults.
#include "support/phase1_faults.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>

#include "support/expect.h"
#include "support/verify.h"
#include "verify/number.h"

namespace openaclnn_test {

namespace {

// False for an optional tensor that the valid call leaves out: only its handle can be wrong.
bool is_given(const TensorArgument& tensor) { return tensor.handle != Handle::null; }

std::string part_text(const Schema& test, const Part& part) {
  const CallArguments& call = test.valid;
  const auto of_tensor = [&](const char* what) {
    return std::string(call.tensors[part.index].name) + " " + what;
  };
  switch (part.kind) {
    case Part::workspace_pointer: return "workspaceSize";
    case Part::executor_pointer: return "executor";
    case Part::handle: return of_tensor("handle");
    case Part::dtype: return of_tensor("dtype");
    case Part::dims: return of_tensor("dims");
    case Part::format: return of_tensor("format");
    case Part::array_handle: return std::string(call.array->name) + " handle";
    case Part::array: return call.array->name;
    case Part::layout: return "layout";
    case Part::number: return test.number_names[part.index];
  }
  return "";
}

std::string fault_text(const Schema& test, const Fault& fault) {
  std::string text = "V" + std::to_string(fault.row) + " " + fault.rule + " (";
  for (size_t k = 0; k < fault.parts.size(); ++k)
    text += (k > 0 ? ", " : "") + part_text(test, fault.parts[k]);
  return text + ")";
}

bool share_a_part(const Fault& one, const Fault& other) {
  return std::find_first_of(one.parts.begin(), one.parts.end(), other.parts.begin(), other.parts.end()) !=
         one.parts.end();
}

::testing::AssertionResult is_found(const Schema& test, const CallArguments& arguments, const Fault& fault) {
  return failed_in_phase1(test.run(arguments), test.function, fault.row <= V2 ? kNull : kInvalid,
                          fault.sentence);
}

Fault of_tensor(Row row, std::string rule, Part part, std::function<void(TensorArgument&)> apply,
                std::vector<std::string> sentence) {
  return bad_call(
      row, std::move(rule), {part},
      [index = part.index, apply = std::move(apply)](CallArguments& a) { apply(a.tensors[index]); },
      std::move(sentence));
}

// V3, with the array at its place among the tensors.
void add_bad_handles(const CallArguments& call, std::vector<Fault>& list) {
  constexpr std::pair<Handle, const char*> kStates[] = {
      {Handle::stale, "a destroyed handle"},
      {Handle::foreign_bits, "a handle that no function returned"},
      {Handle::other_kind, "a handle of another kind"}};
  for (size_t k = 0; k <= call.tensors.size(); ++k) {
    if (call.array && call.array->before == k) {
      for (const auto& [state, rule] : kStates) {
        list.push_back(bad_call(V3, rule, {{Part::array_handle, 0}},
                                [state = state](CallArguments& a) { a.array->handle = state; },
                                {std::string(call.array->name) + " is not a live "}));
      }
    }
    if (k == call.tensors.size()) break;
    for (const auto& [state, rule] : kStates) {
      list.push_back(of_tensor(V3, rule, {Part::handle, k},
                               [state = state](TensorArgument& t) { t.handle = state; },
                               {std::string(call.tensors[k].name) + " is not a live tensor"}));
    }
  }
}

void add_bad_extents(const CallArguments& call, std::vector<Fault>& list) {
  struct Extent {
    const char* rule;
    Shape dims;
    std::vector<std::string> sentence;
  };
  const Extent extents[] = {{"rank > 8", Shape(9, 1), {"has rank 9", "8"}},
                            {"negative dim", {-1, 8}, {"negative"}},
                            {"overflow", {int64_t{1} << 62, 4}, {"64-bit"}}};
  for (size_t k = 0; k < call.tensors.size(); ++k) {
    if (!is_given(call.tensors[k])) continue;
    for (const Extent& extent : extents) {
      std::vector<std::string> sentence = extent.sentence;
      sentence.push_back(std::string(call.tensors[k].name) + " ");
      list.push_back(of_tensor(
          V5, extent.rule, {Part::dims, k}, [dims = extent.dims](TensorArgument& t) { t.dims = dims; },
          std::move(sentence)));
    }
  }
}

// The contiguous strides, but all steps along the first dim lead to the same place.
Shape repeating_strides(const Shape& dims) {
  Shape strides(dims.size(), 1);
  for (size_t k = dims.size() - 1; k > 0; --k) strides[k - 1] = strides[k] * dims[k];
  strides[0] = 0;
  return strides;
}

}  // namespace

std::string list_text(const Shape& values) {
  std::string text;
  for (const int64_t value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

bool has_dtype(const TensorArgument& tensor, std::initializer_list<aclDataType> accepted) {
  return std::find(accepted.begin(), accepted.end(), tensor.dtype) != accepted.end();
}
std::string says_dtype(const TensorArgument& tensor) { return std::string(tensor.name) + " has dtype "; }
std::string says_shape(const TensorArgument& tensor) {
  return std::string(tensor.name) + " has shape " + list_text(tensor.dims);
}

Fault bad_call(Row row, std::string rule, std::vector<Part> parts, std::function<void(CallArguments&)> apply,
               std::vector<std::string> sentence) {
  return {row, std::move(rule), std::move(sentence), std::move(parts), std::move(apply)};
}
Fault bad_dtype(std::string rule, size_t tensor, aclDataType dtype, std::vector<std::string> sentence) {
  return of_tensor(
      V4, std::move(rule), {Part::dtype, tensor}, [dtype](TensorArgument& t) { t.dtype = dtype; },
      std::move(sentence));
}
Fault bad_dims(std::string rule, size_t tensor, Shape dims, std::vector<std::string> sentence) {
  return of_tensor(
      V6, std::move(rule), {Part::dims, tensor},
      [dims = std::move(dims)](TensorArgument& t) { t.dims = dims; }, std::move(sentence));
}
Fault bad_number(Row row, std::string rule, size_t number, int64_t value, std::vector<std::string> sentence) {
  return bad_call(
      row, std::move(rule), {{Part::number, number}},
      [number, value](CallArguments& a) { a.numbers[number] = value; }, std::move(sentence));
}
Fault bad_layout(std::string rule, std::string text, std::vector<std::string> sentence) {
  return bad_call(
      V7, std::move(rule), {{Part::layout, 0}},
      [text = std::move(text)](CallArguments& a) { a.layout = text; }, std::move(sentence));
}
Fault bad_array(std::string rule, std::vector<int64_t> values, std::vector<std::string> sentence) {
  return bad_call(
      V10, std::move(rule), {{Part::array, 0}},
      [values = std::move(values)](CallArguments& a) { a.array->values = values; }, std::move(sentence));
}

std::vector<Fault> all_faults(const Schema& test) {
  const CallArguments& call = test.valid;
  std::vector<Fault> list;
  list.push_back(bad_call(V1, "workspaceSize pointer NULL", {{Part::workspace_pointer, 0}},
                          [](CallArguments& a) { a.has_workspace_pointer = false; },
                          {"workspaceSize is NULL"}));
  list.push_back(bad_call(V1, "executor pointer NULL", {{Part::executor_pointer, 0}},
                          [](CallArguments& a) { a.has_executor_pointer = false; }, {"executor is NULL"}));
  for (size_t k = 0; k < call.tensors.size(); ++k) {
    if (call.tensors[k].is_optional) continue;
    list.push_back(of_tensor(V2, "required tensor NULL", {Part::handle, k},
                             [](TensorArgument& t) { t.handle = Handle::null; },
                             {std::string(call.tensors[k].name) + " is NULL", "required"}));
  }
  add_bad_handles(call, list);
  add_bad_extents(call, list);
  for (size_t k = 0; k < call.tensors.size(); ++k) {
    if (!is_given(call.tensors[k])) continue;
    list.push_back(of_tensor(V8, "storage format", {Part::format, k},
                             [](TensorArgument& t) { t.format = ACL_FORMAT_FRACTAL_NZ; },
                             {std::string(call.tensors[k].name) + " has format 29", "ND"}));
  }
  for (size_t k = 0; k < call.tensors.size(); ++k) {
    if (call.tensors[k].role == Role::input || !is_given(call.tensors[k])) continue;
    const Shape strides = repeating_strides(call.tensors[k].dims);
    list.push_back(
        of_tensor(V9, "an output overlaps itself", {Part::dims, k},
                  [strides](TensorArgument& t) { t.strides = strides; },
                  {std::string(call.tensors[k].name) + " has shape " + list_text(call.tensors[k].dims),
                   "strides " + list_text(strides), "distinct"}));
  }
  list.insert(list.end(), test.faults.begin(), test.faults.end());
  std::stable_sort(list.begin(), list.end(), [](const Fault& a, const Fault& b) { return a.row < b.row; });
  return list;
}

void expect_every_fault_is_found(const Schema& test) {
  const Outcome valid = test.run(test.valid);
  EXPECT_EQ(valid.phase1, 0) << valid.error;
  const std::vector<Fault> list = all_faults(test);
  for (const Fault& fault : list) {
    CallArguments arguments = test.valid;
    fault.apply(arguments);
    EXPECT_TRUE(is_found(test, arguments, fault)) << fault_text(test, fault);
    std::printf("  %s\n", fault_text(test, fault).c_str());
  }
  std::printf("%s: %zu faults\n", test.function, list.size());
}

int expect_first_of_two_faults_decides(const Schema& test) {
  const std::vector<Fault> list = all_faults(test);
  int pairs = 0;
  int wrong = 0;
  for (size_t first = 0; first < list.size(); ++first) {
    for (size_t second = first + 1; second < list.size(); ++second) {
      if (share_a_part(list[first], list[second])) continue;
      CallArguments arguments = test.valid;
      list[second].apply(arguments);
      list[first].apply(arguments);
      const auto found = is_found(test, arguments, list[first]);
      EXPECT_TRUE(found) << fault_text(test, list[first]) << " before " << fault_text(test, list[second]);
      ++pairs;
      wrong += !found;
      if (wrong == 10) return pairs;  // enough to see the cause
    }
  }
  std::printf("%s: %d pairs of faults\n", test.function, pairs);
  return pairs;
}

void expect_exactly_these_dtypes(const Schema& test, const std::vector<size_t>& together,
                                 std::span<const aclDataType> accepted) {
  int passed = 0;
  for (int value = -2; value <= 45; ++value) {
    const auto dtype = static_cast<aclDataType>(value);
    CallArguments arguments = test.valid;
    for (const size_t k : together) arguments.tensors[k].dtype = dtype;
    const Outcome outcome = test.run(arguments);
    if (std::find(accepted.begin(), accepted.end(), dtype) != accepted.end()) {
      EXPECT_EQ(outcome.phase1, 0) << outcome.error;
      ++passed;
    } else {
      const std::string name = test.valid.tensors[together.front()].name;
      EXPECT_TRUE(failed_in_phase1(outcome, test.function, kInvalid, {name + " has dtype ", "must be"}))
          << "V4: dtype " << value;
    }
  }
  EXPECT_EQ(passed, static_cast<int>(accepted.size()));
}

void expect_extents_within_int64(const Schema& test) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  struct Extent {
    Shape dims, strides;
    int64_t offset;
    const char* sentence;
  };
  for (size_t k = 0; k < test.valid.tensors.size(); ++k) {
    if (!is_given(test.valid.tensors[k])) continue;
    // Each half of the reach fits, the whole does not.
    const int64_t half = kHuge / element_bytes(test.valid.tensors[k].dtype);
    for (const Extent& extent : {Extent{{-1}, {}, 0, "negative"},
                                 {{4, -8}, {}, 0, "dim 1 is negative"},
                                 {{0, -1}, {}, 0, "negative"},
                                 {{kHuge}, {}, 0, "64-bit"},
                                 {{kHuge, 4}, {}, 0, "64-bit"},
                                 {{kHuge, kHuge}, {}, 0, "64-bit"},
                                 {{2}, {kHuge}, 0, "64-bit"},
                                 {{2}, {-kHuge}, 0, "64-bit"},
                                 {{2}, {INT64_MIN}, 0, "64-bit"},
                                 {{2}, {INT64_MAX}, 0, "64-bit"},
                                 {{4}, {}, INT64_MAX, "64-bit"},
                                 {{4}, {}, INT64_MIN, "64-bit"},
                                 {{2, 2}, {half, -half}, 0, "64-bit"}}) {
      CallArguments arguments = test.valid;
      TensorArgument& tensor = arguments.tensors[k];
      tensor.dims = extent.dims;
      tensor.strides = extent.strides;
      tensor.offset = extent.offset;
      EXPECT_TRUE(failed_in_phase1(test.run(arguments), test.function, kInvalid,
                                   {std::string(tensor.name) + " ", extent.sentence}))
          << "V5: dims " << testing::PrintToString(extent.dims) << ", strides "
          << testing::PrintToString(extent.strides) << ", offset " << extent.offset;
    }
  }
}

void expect_refused_numbers(const Schema& test, size_t number, const std::vector<int64_t>& values,
                            const std::function<std::string(int64_t)>& sentence) {
  std::vector<int64_t> all = values;
  all.insert(all.end(), {INT64_MIN, INT64_MAX});
  for (const int64_t value : all) {
    CallArguments arguments = test.valid;
    arguments.numbers[number] = value;
    EXPECT_TRUE(failed_in_phase1(test.run(arguments), test.function, kInvalid, {sentence(value)}));
  }
}

void expect_exactly_the_plain_formats(const Schema& test) {
  for (int value = -2; value <= 60; ++value) {
    const int plain[] = {-1, 0, 1, 2, 16, 27, 30, 35, 47};
    const bool accepted = std::find(std::begin(plain), std::end(plain), value) != std::end(plain);
    for (size_t k = 0; k < test.valid.tensors.size(); ++k) {
      if (!is_given(test.valid.tensors[k])) continue;
      CallArguments arguments = test.valid;
      arguments.tensors[k].format = static_cast<aclFormat>(value);
      const Outcome outcome = test.run(arguments);
      const std::string name = test.valid.tensors[k].name;
      if (accepted) {
        EXPECT_EQ(outcome.phase1, 0) << "V8: format " << value << ": " << outcome.error;
      } else {
        EXPECT_TRUE(failed_in_phase1(outcome, test.function, kInvalid,
                                     {name + " has format " + std::to_string(value) + ";"}));
      }
    }
  }
}

void expect_distinct_outputs(const Schema& test) {
  for (size_t k = 0; k < test.valid.tensors.size(); ++k) {
    const TensorArgument& valid = test.valid.tensors[k];
    const size_t rank = valid.dims.size();
    if (!is_given(valid)) continue;
    if (rank == 1 && valid.role == Role::input) {
      CallArguments arguments = test.valid;
      arguments.tensors[k].strides = {0};
      EXPECT_EQ(test.run(arguments).phase1, 0) << "V9: an input of one repeated element";
    }
    if (rank < 2) continue;
    const int64_t rows = valid.dims[rank - 2];
    const int64_t columns = valid.dims[rank - 1];
    const auto run = [&](const Shape& last_two) {
      CallArguments arguments = test.valid;
      Shape& strides = arguments.tensors[k].strides;
      strides.assign(rank, 1000);  // beyond what the last two dims reach
      std::copy(last_two.begin(), last_two.end(), strides.end() - 2);
      return test.run(arguments);
    };
    for (const Shape& strides : {Shape{0, 0}, Shape{1, 0}, Shape{0, 1}, Shape{1, 1}, Shape{columns - 1, 1},
                                 Shape{1, rows - 1}, Shape{1 - columns, 1}, Shape{-1, -1}}) {
      const Outcome outcome = run(strides);
      if (valid.role == Role::input) {
        EXPECT_EQ(outcome.phase1, 0) << outcome.error;
      } else {
        EXPECT_TRUE(failed_in_phase1(outcome, test.function, kInvalid,
                                     {std::string(valid.name) + " has shape ", "distinct"}))
            << "V9: last strides " << testing::PrintToString(strides);
      }
    }
    for (const Shape& strides :
         {Shape{columns, 1}, Shape{1, rows}, Shape{-columns, 1}, Shape{1, -rows}, Shape{2 * columns, 2},
          Shape{2, 2 * rows}, Shape{4 * (columns - 1) + 1, 4}}) {
      const Outcome outcome = run(strides);
      EXPECT_EQ(outcome.phase1, 0) << "V9: " << outcome.error;
    }
  }
}

}  // namespace openaclnn_test
