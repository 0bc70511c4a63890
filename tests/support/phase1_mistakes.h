// The validation of phase 1 as data: every mistake with the rule that finds it. A room describes a valid call
// and the mistakes of its own rules. The mistakes of the rules for every parameter are made from that
// description: pointers, handles, extents, formats and outputs that overlap themselves.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/phase1_call.h"

namespace openaclnn_test {

inline constexpr int kNull = 161001;
inline constexpr int kInvalid = 161002;

// The rules of validation, in the order of the checks.
enum Rule {
  kOutPointerRule = 1,  // workspaceSize and executor are not NULL
  kRequiredRule,        // required tensors are not NULL
  kHandleRule,          // handles are live and of the right kind
  kDtypeRule,           // dtypes, and their relations
  kExtentRule,          // rank at most 8, no negative dim, everything within 64 bits
  kShapeRule,           // ranks, shapes, and their relations
  kAttributeRule,
  kFormatRule,
  kDistinctRule,  // no output overlaps itself
  kArrayRule,     // host arrays
  kLimitRule,     // of OPENACLNN_LIMITS=vendor
};
const char* rule_name(Rule rule);
// The code that a broken rule returns.
constexpr int code_of(Rule rule) { return rule <= kRequiredRule ? kNull : kInvalid; }

// The part of the call that a mistake changes. Mistakes that share a part cannot be combined. Strides belong to
// the dims.
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

struct Mistake {
  Rule rule = kOutPointerRule;
  std::string what;  // in the words of the operator's list of checks
  std::vector<std::string> sentence;
  std::vector<Part> parts;
  std::function<void(CallArguments&)> apply;
};

Mistake bad_dtype(std::string what, size_t tensor, aclDataType dtype, std::vector<std::string> sentence);
Mistake bad_dims(std::string what, size_t tensor, Shape dims, std::vector<std::string> sentence);
Mistake bad_number(Rule rule, std::string what, size_t number, int64_t value,
                   std::vector<std::string> sentence);
Mistake bad_layout(std::string what, std::string text, std::vector<std::string> sentence);
Mistake bad_array(std::string what, std::vector<int64_t> values, std::vector<std::string> sentence);
// Any other mistake that needs several changes at once.
Mistake bad_call(Rule rule, std::string what, std::vector<Part> parts,
                 std::function<void(CallArguments&)> apply, std::vector<std::string> sentence);

// One operator, or one form of its call, as data: the one description for the tests of its rejections, the
// tables of (parameter x mistake) and the fuzzers.
struct Schema {
  std::string function = {};  // the phase 1
  CallArguments valid;
  Phase1Call phase1;
  FixedFlags fixed = {};
  std::vector<std::string> number_names = {};
  std::vector<size_t> attributes = {};  // the numbers that are attributes; others describe mistakes
  std::vector<Mistake> mistakes = {};   // of the operator's own rules; within a row in the order of finding
  // The results of the rules of dtypes, shapes, attributes and host arrays for a call without other mistakes:
  // a part of the error message that names the parameter, or an empty text. Written from the public header.
  // Any call may be passed.
  std::function<std::string(const CallArguments&)> refusal = {};

  Outcome run(const CallArguments& arguments) const { return run_phase1(arguments, phase1); }
};

// Returns a schema without mistakes. `valid` has values only: names, roles and the call come from the
// description. An argument of a list is the only tensor of that list, named "grads[0]". Throws
// std::logic_error if the values are not those of the parameters.
Schema schema_of(const openaclnn_verify::Description& description, CallArguments valid,
                 const FixedFlags& fixed = {});
void append(std::vector<Mistake>& mistakes, std::vector<Mistake> more);

// Shapes and strides in the form of error messages.
std::string list_text(const Shape& values);

// Parts of a refusal(): the tensor's dtype is none of those; the dims, as at the start of a message.
bool has_dtype(const TensorArgument& tensor);
std::string says_dtype(const TensorArgument& tensor);
std::string says_shape(const TensorArgument& tensor);

// Own and general mistakes in the order in which they must be found.
std::vector<Mistake> all_mistakes(const Schema& test);

}  // namespace openaclnn_test
