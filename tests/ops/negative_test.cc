// The negative tables: every parameter of every exported phase 1 with every mistake, each with its code and
// error message.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>

#include "room_schemas.h"
#include "support/expect.h"
#include "support/paths.h"
#include "support/schema_model.h"

namespace openaclnn_test {
namespace {

// A mistake returns the code and the error message of the model, and does not write the out values. Accepted
// calls leave no message.
::testing::AssertionResult is_as(const Verdict& verdict, const Schema& schema, const Outcome& outcome) {
  if (verdict.code != 0) return failed_in_phase1(outcome, schema.function, verdict.code, {verdict.part});
  if (outcome.phase1 == 0 && outcome.error.empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "must be accepted: " << outcome.text();
}

TEST(Negative, EveryParameterWithEveryMistake) {
  int64_t cells = 0, refused = 0, asserted = 0, wrong = 0;
  for (const Schema& schema : all_schemas()) {
    ASSERT_TRUE(schema.refusal) << schema.function;
    const auto check = [&](const CallArguments& call, const Verdict& verdict, const std::string& what) {
      const auto found = is_as(verdict, schema, schema.run(call));
      ++cells;
      refused += verdict.code != 0;
      asserted += found ? 1 : 0;
      if (!found && ++wrong <= 20)
        ADD_FAILURE() << schema.function << ": " << what << ": " << found.message();
    };
    for (const Cell& cell : all_cells(schema))
      check(cell.call, verdict_of(schema, cell.call), cell.parameter + ", " + cell.mistake);
    // Tests the room's own mistakes with their error messages, including relations of several parameters.
    for (const Mistake& mistake : all_mistakes(schema)) {
      CallArguments call = schema.valid;
      mistake.apply(call);
      for (const std::string& part : mistake.sentence)
        check(call, {code_of(mistake.rule), part}, mistake.what);
    }
  }
  std::printf("figure cells %lld\nfigure refused %lld\nfigure asserted %lld\n", static_cast<long long>(cells),
              static_cast<long long>(refused), static_cast<long long>(asserted));
}

// An empty model would accept everything, so each schema's own mistakes must also be mistakes to it.
TEST(Negative, TheModelRefusesWhatTheRoomsList) {
  for (const Schema& schema : all_schemas()) {
    EXPECT_EQ(verdict_of(schema, schema.valid).code, 0) << schema.function;
    for (const Mistake& mistake : all_mistakes(schema)) {
      CallArguments call = schema.valid;
      mistake.apply(call);
      if (call.numbers != schema.valid.numbers && schema.attributes.size() < schema.number_names.size())
        continue;  // a mistake of a list as a whole, which no description of tensors expresses
      EXPECT_NE(verdict_of(schema, call).code, 0) << schema.function << ": " << mistake.what;
    }
  }
}

// A phase 1 without a schema would have no table.
TEST(Negative, EveryExportedPhase1HasASchema) {
  std::set<std::string> functions;
  for (const Schema& schema : all_schemas()) functions.insert(schema.function);
  std::ifstream symbols(test_paths::exported_symbols);
  ASSERT_TRUE(symbols);
  int found = 0;
  for (std::string symbol; std::getline(symbols, symbol);) {
    if (!symbol.ends_with("GetWorkspaceSize")) continue;
    EXPECT_TRUE(functions.contains(symbol)) << symbol;
    ++found;
  }
  EXPECT_EQ(found, static_cast<int>(functions.size()));
}

}  // namespace
}  // namespace openaclnn_test
