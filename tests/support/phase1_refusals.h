// The suite of calls that every phase 1 accepts and rejects. A room instantiates it with its schemas, and
// with tables of calls that only this operator accepts and rejects:
//   INSTANTIATE_TEST_SUITE_P(Embedding, Phase1Refusals, testing::ValuesIn(refusals()), Refusals::name_of);
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "support/phase1_mistakes.h"

namespace openaclnn_test {

// A change to the schema's valid call, and the expected result.
struct Trial {
  std::string what;
  std::function<void(CallArguments&)> change;
  int code = 0;                            // 0: accepted
  std::vector<std::string> sentence = {};  // parts of the error message
  bool needs_no_workspace = false;
};
Trial accepts(std::string what, std::function<void(CallArguments&)> change);
Trial needs_nothing(std::string what, std::function<void(CallArguments&)> change);
Trial refuses(std::string what, std::function<void(CallArguments&)> change, std::vector<std::string> sentence,
              int code = kInvalid);

// Changes of the dims of some tensors, and of the layout text.
std::function<void(CallArguments&)> with_dims(std::vector<std::pair<size_t, Shape>> dims);
std::function<void(CallArguments&)> with_layout(std::string text);

// Texts that are not layouts; each is rejected with the start of the text on one line.
std::vector<Trial> wrong_layouts(const char* name = "layoutOptional");
// Each value in place of the number, and the borders of int64_t. Error messages start with "<name of the
// number> is <value>".
std::vector<Trial> wrong_numbers(const Schema& schema, size_t number, std::vector<int64_t> values);

void append(std::vector<Trial>& trials, std::vector<Trial> more);

// If the tensors `together` all have one dtype, exactly the accepted dtypes pass.
struct AcceptedDtypes {
  std::vector<size_t> together;
  std::vector<aclDataType> accepted;
};

// What the description says: each list, of a tensor and those that have the same dtype.
std::vector<AcceptedDtypes> described_dtypes(const Schema& schema);

struct Refusals {
  std::string name;  // of the form of the call, or of the process's mode
  Schema schema;
  int least_pairs = 0;           // at least this many pairs of mistakes are tried
  bool needs_workspace = false;  // the valid call
  std::vector<AcceptedDtypes> dtypes = described_dtypes(schema);
  std::vector<Trial> trials = {};
  // Settings of a process in which the schema's mistakes apply; each test of such a form runs in a separate
  // process.
  std::map<std::string, std::string> environment = {};

  static std::string name_of(const testing::TestParamInfo<Refusals>& info);
  friend void PrintTo(const Refusals& refusals, std::ostream* out) { *out << refusals.name; }
};

// A schema with mistakes of one mode. Without that mode each of them is accepted, as the trials say.
Schema with_mistakes(Schema schema, std::vector<Mistake> mistakes);
std::vector<Trial> accepted_mistakes(const std::vector<Mistake>& mistakes);

inline const std::map<std::string, std::string> kVendorLimits = {{"OPENACLNN_LIMITS", "vendor"}};
inline const std::map<std::string, std::string> kStrictCheck = {{"OPENACLNN_CHECK", "strict"}};

class Phase1Refusals : public testing::TestWithParam<Refusals> {
 protected:
  // Runs the body, in a process with the form's settings if it has some.
  void in_mode(const std::function<void(const Refusals&)>& body);
};

}  // namespace openaclnn_test
