// The tests of every phase 1.
#include "support/phase1_refusals.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "support/expect.h"
#include "support/subprocess.h"
#include "support/verify.h"
#include "verify/number.h"

namespace openaclnn_test {

namespace {

std::string part_text(const Schema& test, const Part& part) {
  const CallArguments& call = test.valid;
  const auto of_tensor = [&](const char* what) { return call.tensors[part.index].name + " " + what; };
  switch (part.kind) {
    case Part::workspace_pointer: return "workspaceSize";
    case Part::executor_pointer: return "executor";
    case Part::handle: return of_tensor("handle");
    case Part::dtype: return of_tensor("dtype");
    case Part::dims: return of_tensor("dims");
    case Part::format: return of_tensor("format");
    case Part::array_handle: return call.array->name + " handle";
    case Part::array: return call.array->name;
    case Part::layout: return "layout";
    case Part::number: return test.number_names[part.index];
  }
  return "";
}

std::string mistake_text(const Schema& test, const Mistake& mistake) {
  std::string text = std::string(rule_name(mistake.rule)) + ", " + mistake.what + " (";
  for (size_t k = 0; k < mistake.parts.size(); ++k)
    text += (k > 0 ? ", " : "") + part_text(test, mistake.parts[k]);
  return text + ")";
}

bool share_a_part(const Mistake& one, const Mistake& other) {
  return std::find_first_of(one.parts.begin(), one.parts.end(), other.parts.begin(), other.parts.end()) !=
         one.parts.end();
}

::testing::AssertionResult is_found(const Schema& test, const CallArguments& arguments,
                                    const Mistake& mistake) {
  return failed_in_phase1(test.run(arguments), test.function, code_of(mistake.rule), mistake.sentence);
}

bool is_in(const std::map<std::string, std::string>& environment) {
  return std::ranges::all_of(environment, [](const auto& setting) {
    const char* const value = std::getenv(setting.first.c_str());
    return value != nullptr && value == setting.second;
  });
}

}  // namespace

Trial accepts(std::string what, std::function<void(CallArguments&)> change) {
  return {std::move(what), std::move(change)};
}
Trial needs_nothing(std::string what, std::function<void(CallArguments&)> change) {
  return {.what = std::move(what), .change = std::move(change), .needs_no_workspace = true};
}
Trial refuses(std::string what, std::function<void(CallArguments&)> change, std::vector<std::string> sentence,
              int code) {
  return {std::move(what), std::move(change), code, std::move(sentence)};
}

std::function<void(CallArguments&)> with_dims(std::vector<std::pair<size_t, Shape>> dims) {
  return [dims = std::move(dims)](CallArguments& a) {
    for (const auto& [tensor, shape] : dims) a.tensors[tensor].dims = shape;
  };
}
std::function<void(CallArguments&)> with_layout(std::string text) {
  return [text = std::move(text)](CallArguments& a) { a.layout = text; };
}

std::vector<Trial> wrong_layouts(const char* name) {
  std::vector<Trial> trials;
  for (const std::string& text : {std::string("TN"), std::string("TNDX"), std::string("\n"),
                                  std::string("a\tb\x80\xFF"), std::string(5000, 'T')})
    trials.push_back(
        refuses("layout " + text.substr(0, 4), with_layout(text), {std::string(name) + " is \"", "\"TND\""}));
  return trials;
}

std::vector<Trial> wrong_numbers(const Schema& schema, size_t number, std::vector<int64_t> values) {
  values.insert(values.end(), {INT64_MIN, INT64_MAX});
  std::vector<Trial> trials;
  for (const int64_t value : values) {
    const std::string says = schema.number_names[number] + " is " + std::to_string(value);
    trials.push_back(refuses(says, [=](CallArguments& a) { a.numbers[number] = value; }, {says}));
  }
  return trials;
}

void append(std::vector<Trial>& trials, std::vector<Trial> more) {
  for (Trial& trial : more) trials.push_back(std::move(trial));
}

Schema with_mistakes(Schema schema, std::vector<Mistake> mistakes) {
  append(schema.mistakes, std::move(mistakes));
  return schema;
}
std::vector<Trial> accepted_mistakes(const std::vector<Mistake>& mistakes) {
  std::vector<Trial> trials;
  for (const Mistake& mistake : mistakes) trials.push_back(accepts(mistake.what, mistake.apply));
  return trials;
}

std::string Refusals::name_of(const testing::TestParamInfo<Refusals>& info) { return info.param.name; }

void Phase1Refusals::in_mode(const std::function<void(const Refusals&)>& body) {
  if (is_in(GetParam().environment)) return body(GetParam());
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  const ProcessResult result = run_self(
      {std::string("--gtest_filter=") + test.test_suite_name() + "." + test.name()}, GetParam().environment);
  EXPECT_TRUE(ran_and_passed(result)) << result.output;
}

TEST_P(Phase1Refusals, EveryMistakeHasItsCodeAndSentence) {
  in_mode([](const Refusals& form) {
    const Outcome valid = form.schema.run(form.schema.valid);
    EXPECT_EQ(valid.phase1, 0) << valid.error;
    EXPECT_TRUE(!form.needs_workspace || valid.workspace_bytes > 0);
    const std::vector<Mistake> list = all_mistakes(form.schema);
    for (const Mistake& mistake : list) {
      CallArguments arguments = form.schema.valid;
      mistake.apply(arguments);
      EXPECT_TRUE(is_found(form.schema, arguments, mistake)) << mistake_text(form.schema, mistake);
      std::printf("  %s\n", mistake_text(form.schema, mistake).c_str());
    }
    std::printf("%s: %zu mistakes\n", form.schema.function.c_str(), list.size());
  });
}

// The earlier one of two mistakes in one call determines the code.
TEST_P(Phase1Refusals, TheFirstOfTwoMistakesDecides) {
  in_mode([](const Refusals& form) {
    const std::vector<Mistake> list = all_mistakes(form.schema);
    int pairs = 0, wrong = 0;
    for (size_t first = 0; first < list.size() && wrong < 10; ++first) {
      for (size_t second = first + 1; second < list.size() && wrong < 10; ++second) {
        if (share_a_part(list[first], list[second])) continue;
        CallArguments arguments = form.schema.valid;
        list[second].apply(arguments);
        list[first].apply(arguments);
        const auto found = is_found(form.schema, arguments, list[first]);
        EXPECT_TRUE(found) << mistake_text(form.schema, list[first]) << " before "
                           << mistake_text(form.schema, list[second]);
        ++pairs;
        wrong += !found;
      }
    }
    std::printf("%s: %d pairs of mistakes\n", form.schema.function.c_str(), pairs);
    EXPECT_GT(pairs, form.least_pairs);
  });
}

std::vector<AcceptedDtypes> described_dtypes(const Schema& schema) {
  const std::vector<TensorArgument>& tensors = schema.valid.tensors;
  std::vector<AcceptedDtypes> found;
  for (size_t k = 0; k < tensors.size(); ++k) {
    if (tensors[k].dtype_of != k || !tensors[k].is_given()) continue;
    AcceptedDtypes& list = found.emplace_back();
    list.accepted = tensors[k].dtypes;
    for (size_t n = 0; n < tensors.size(); ++n) {
      if (tensors[n].dtype_of == k) list.together.push_back(n);
    }
  }
  return found;
}

TEST_P(Phase1Refusals, AcceptsExactlyTheListedDtypes) {
  for (const auto& [together, accepted] : GetParam().dtypes) {
    const Schema& schema = GetParam().schema;
    for (int value = -2; value <= 45; ++value) {
      const auto dtype = static_cast<aclDataType>(value);
      CallArguments arguments = schema.valid;
      for (const size_t k : together) arguments.tensors[k].dtype = dtype;
      const Outcome outcome = schema.run(arguments);
      if (std::ranges::count(accepted, dtype) > 0) {
        EXPECT_EQ(outcome.phase1, 0) << outcome.error;
      } else {
        const std::string name = schema.valid.tensors[together.front()].name;
        EXPECT_TRUE(failed_in_phase1(outcome, schema.function, kInvalid, {name + " has dtype ", "must be"}))
            << "dtype " << value;
      }
    }
  }
}

// The room's own tables for this operator.
TEST_P(Phase1Refusals, AnswersTheTrialsOfTheOperator) {
  in_mode([](const Refusals& form) {
    for (const Trial& trial : form.trials) {
      CallArguments arguments = form.schema.valid;
      trial.change(arguments);
      const Outcome outcome = form.schema.run(arguments);
      if (trial.code != 0) {
        EXPECT_TRUE(failed_in_phase1(outcome, form.schema.function, trial.code, trial.sentence))
            << trial.what;
      } else {
        EXPECT_EQ(outcome.phase1, 0) << trial.what << ": " << outcome.error;
        EXPECT_TRUE(!trial.needs_no_workspace || outcome.workspace_bytes == 0) << trial.what;
      }
    }
  });
}

// The extent of each tensor's dims, strides and offset.
TEST_P(Phase1Refusals, RefusesExtentsThatLeaveInt64) {
  const Schema& schema = GetParam().schema;
  constexpr int64_t kHuge = int64_t{1} << 62;
  struct Extent {
    Shape dims, strides;
    int64_t offset;
    const char* sentence;
  };
  for (size_t k = 0; k < schema.valid.tensors.size(); ++k) {
    if (!schema.valid.tensors[k].is_given()) continue;
    // Each half of the extent fits, the whole does not.
    const int64_t half = kHuge / element_bytes(schema.valid.tensors[k].dtype);
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
      CallArguments arguments = schema.valid;
      TensorArgument& tensor = arguments.tensors[k];
      tensor.dims = extent.dims;
      tensor.strides = extent.strides;
      tensor.offset = extent.offset;
      EXPECT_TRUE(failed_in_phase1(schema.run(arguments), schema.function, kInvalid,
                                   {tensor.name + " ", extent.sentence}))
          << "dims " << testing::PrintToString(extent.dims) << ", strides "
          << testing::PrintToString(extent.strides) << ", offset " << extent.offset;
    }
  }
}

// Outputs of rank 2 and 3 with strides of every kind; inputs may overlap themselves.
TEST_P(Phase1Refusals, RefusesOutputsThatOverlapThemselvesButNotInputs) {
  const Schema& schema = GetParam().schema;
  for (size_t k = 0; k < schema.valid.tensors.size(); ++k) {
    const TensorArgument& valid = schema.valid.tensors[k];
    const size_t rank = valid.dims.size();
    if (!valid.is_given()) continue;
    if (rank == 1 && valid.role == Role::input) {
      CallArguments arguments = schema.valid;
      arguments.tensors[k].strides = {0};
      EXPECT_EQ(schema.run(arguments).phase1, 0) << "an input of one repeated element";
    }
    if (rank < 2) continue;
    const int64_t rows = valid.dims[rank - 2];
    const int64_t columns = valid.dims[rank - 1];
    const auto run = [&](const Shape& last_two) {
      CallArguments arguments = schema.valid;
      Shape& strides = arguments.tensors[k].strides;
      strides.assign(rank, 1000);  // beyond the extent of the last two dims
      std::copy(last_two.begin(), last_two.end(), strides.end() - 2);
      return schema.run(arguments);
    };
    for (const Shape& strides : {Shape{0, 0}, Shape{1, 0}, Shape{0, 1}, Shape{1, 1}, Shape{columns - 1, 1},
                                 Shape{1, rows - 1}, Shape{1 - columns, 1}, Shape{-1, -1}}) {
      const Outcome outcome = run(strides);
      if (valid.role == Role::input) {
        EXPECT_EQ(outcome.phase1, 0) << outcome.error;
      } else {
        EXPECT_TRUE(
            failed_in_phase1(outcome, schema.function, kInvalid, {valid.name + " has shape ", "distinct"}))
            << "last strides " << testing::PrintToString(strides);
      }
    }
    for (const Shape& strides :
         {Shape{columns, 1}, Shape{1, rows}, Shape{-columns, 1}, Shape{1, -rows}, Shape{2 * columns, 2},
          Shape{2, 2 * rows}, Shape{4 * (columns - 1) + 1, 4}}) {
      const Outcome outcome = run(strides);
      EXPECT_EQ(outcome.phase1, 0) << outcome.error;
    }
  }
}

}  // namespace openaclnn_test
