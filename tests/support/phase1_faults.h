// The validation of phase 1 as data: every fault with the row (V1 … V11) and the rule that find it, and the tests that all
// operators share. A room describes a valid call and the faults of its own rules; the faults of the rules that hold for every
// parameter (V1, V2, V3, V5, V8, V9) are made from that description.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "support/phase1_call.h"

namespace openaclnn_test {

inline constexpr int kNull = 161001;
inline constexpr int kInvalid = 161002;

// Rows of the order of validation.
enum Row { V1 = 1, V2, V3, V4, V5, V6, V7, V8, V9, V10, V11 };

// What a fault spoils. Faults that share a part cannot be combined. Strides belong to the dims.
struct Part {
  enum Kind {
    workspace_pointer,
    executor_pointer,
    handle,
    dtype,
    dims,
    format,
    array_handle,
    array,
    layout,
    number
  };
  Kind kind = handle;
  size_t index = 0;  // of the tensor or number
  bool operator==(const Part&) const = default;
};

// V1, V2 return 161001, the others 161002.
struct Fault {
  Row row = V1;
  std::string rule;  // in the words of the operator's list of checks
  std::vector<std::string> sentence;
  std::vector<Part> parts;
  std::function<void(CallArguments&)> apply;
};

Fault bad_dtype(std::string rule, size_t tensor, aclDataType dtype, std::vector<std::string> sentence);
Fault bad_dims(std::string rule, size_t tensor, Shape dims, std::vector<std::string> sentence);
Fault bad_number(Row row, std::string rule, size_t number, int64_t value, std::vector<std::string> sentence);
Fault bad_layout(std::string rule, std::string text, std::vector<std::string> sentence);
Fault bad_array(std::string rule, std::vector<int64_t> values, std::vector<std::string> sentence);
// Anything else: a fault that needs several changes at once.
Fault bad_call(Row row, std::string rule, std::vector<Part> parts, std::function<void(CallArguments&)> apply,
               std::vector<std::string> sentence);

// One operator, or one form of its call, as data: the one description that the tests of its refusals, the tables of
// (parameter x fault) and the fuzzers work with.
struct Schema {
  const char* function = "";
  CallArguments valid;
  Phase1Call phase1;
  std::vector<const char*> number_names = {};  // of the attributes, for messages
  std::vector<Fault> faults = {};       // of the operator's own rules; within a row in the order of finding
  std::vector<size_t> attributes = {};  // the numbers that are attributes; others describe faults
  // What the rules of dtypes, shapes, attributes and host arrays say of a call that is not spoilt otherwise: a part of the
  // sentence that names the parameter; empty: nothing. Written from the public header. Any call may be asked about.
  std::function<std::string(const CallArguments&)> refusal = {};

  Outcome run(const CallArguments& arguments) const { return run_phase1(arguments, phase1); }
};

// As error sentences show shapes and strides.
std::string list_text(const Shape& values);

// Words of a refusal(): the tensor's dtype is none of those; the dims, as a sentence begins.
bool has_dtype(const TensorArgument& tensor, std::initializer_list<aclDataType> accepted);
std::string says_dtype(const TensorArgument& tensor);
std::string says_shape(const TensorArgument& tensor);

// Own and general faults in the order in which they must be found.
std::vector<Fault> all_faults(const Schema& test);

// The valid call passes; every fault alone has its code and sentence. Prints the rows and rules that were tested.
void expect_every_fault_is_found(const Schema& test);
// Of two faults in one call the earlier one decides. Returns the number of pairs.
int expect_first_of_two_faults_decides(const Schema& test);

// V4: when the tensors `together` all have one dtype, exactly the accepted ones pass.
void expect_exactly_these_dtypes(const Schema& test, const std::vector<size_t>& together,
                                 std::span<const aclDataType> accepted);
// V5: dims, strides and offsets whose reach leaves 64 bits, for each tensor.
void expect_extents_within_int64(const Schema& test);
// V7: values that a number must not have, INT64_MIN and INT64_MAX among them; the sentence is made from the value.
void expect_refused_numbers(const Schema& test, size_t number, const std::vector<int64_t>& values,
                            const std::function<std::string(int64_t)>& sentence);
// V8: the plain formats of every tensor pass, and no others.
void expect_exactly_the_plain_formats(const Schema& test);
// V9: outputs of rank 2 and 3 with strides of every kind; inputs may overlap themselves.
void expect_distinct_outputs(const Schema& test);

}  // namespace openaclnn_test
