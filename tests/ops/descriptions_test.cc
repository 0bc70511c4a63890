// Tests that the descriptions of all functions agree with other lists of parameters: the exported symbols
// and the cases. Descriptions, such as the schemas of the rejections, are then right for every operator.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "support/paths.h"
#include "verify/room_cases.h"
#include "verify/room_descriptions.h"

namespace openaclnn_test {
namespace {

using openaclnn_verify::Arguments;
using openaclnn_verify::Case;
using openaclnn_verify::Description;
using openaclnn_verify::descriptions;
using openaclnn_verify::find_description;
using openaclnn_verify::Parameter;
using openaclnn_verify::Role;
using openaclnn_verify::Shape;

TEST(Descriptions, AreOfEveryExportedOperator) {
  const std::string ending = "GetWorkspaceSize";
  std::set<std::string> exported, described;
  std::ifstream symbols(test_paths::exported_symbols);
  ASSERT_TRUE(symbols);
  for (std::string symbol; std::getline(symbols, symbol);) {
    if (symbol.ends_with(ending)) exported.insert(symbol.substr(0, symbol.size() - ending.size()));
  }
  for (const Description& description : descriptions()) described.insert(description.function);
  EXPECT_EQ(described, exported);
  EXPECT_EQ(described.size(), descriptions().size());
}

TEST(Descriptions, SayOfEachParameterWhatItNeeds) {
  for (const Description& description : descriptions()) {
    std::set<std::string> names;
    for (const Parameter& parameter : description.parameters) {
      SCOPED_TRACE(description.function + ", " + parameter.name);
      EXPECT_TRUE(names.insert(parameter.name).second);
      EXPECT_EQ(parameter.role == Role::output, static_cast<bool>(parameter.infer));
      EXPECT_TRUE(parameter.is_tensor() || !parameter.is_result());
      EXPECT_EQ(parameter.is_tensor(), !description.dtypes_of(parameter).empty());
      EXPECT_TRUE(parameter.role == Role::input || !parameter.may_equal_output);
      EXPECT_TRUE(parameter.fallback.empty() || !parameter.is_tensor());
      // The API marks optional parameters in the name; the cache of AMSGrad has "Ref" after it.
      EXPECT_EQ(parameter.is_optional, parameter.name.find("Optional") != std::string::npos);
    }
  }
}

std::string without_position(const std::string& name) { return name.substr(0, name.find('[')); }

TEST(Descriptions, AgreeWithTheCases) {
  for (const Case& c : openaclnn_verify::all_cases()) {
    SCOPED_TRACE(c.name);
    const auto described = [&](const Description& d) { return d.phase2 == c.phase2; };
    const auto description = std::ranges::find_if(descriptions(), described);
    ASSERT_NE(description, descriptions().end());
    EXPECT_TRUE(description->name().starts_with(c.operator_name()));
    size_t at = 0;
    for (const openaclnn_verify::TensorCase& tensor : c.tensors) {
      const std::string name = without_position(tensor.name);
      while (at < description->parameters.size() && description->parameters[at].name != name) ++at;
      ASSERT_LT(at, description->parameters.size())
          << tensor.name << " is not a parameter, or not in this order";
      // Outputs that a case only writes may also be updated in place.
      const Parameter& parameter = description->parameters[at];
      EXPECT_EQ(tensor.role != Role::input, parameter.is_result()) << tensor.name;
      EXPECT_EQ(std::ranges::count(description->dtypes_of(parameter), tensor.dtype), 1) << tensor.name;
    }
  }
}

// Calls a function with only the described arguments, as the program does.
TEST(Descriptions, InferResultsFromArguments) {
  Arguments a;
  a.tensors = {{"weight", {{ACL_BF16, {7, 5}}}}, {"indices", {{ACL_INT64, {2, 3}}}}};
  const Description* const embedding = find_description("aclnnEmbedding");
  const auto out = embedding->find("out")->infer(a);
  EXPECT_EQ(out.dtype, ACL_BF16);
  EXPECT_EQ(out.dims, (Shape{2, 3, 5}));
  a.tensors["weight"][0].dims = {7};
  try {
    (void)embedding->find("out")->infer(a);
    ADD_FAILURE() << "a weight of rank 1 has no rows";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "weight has rank 1; it must be 2");
  }
}

}  // namespace
}  // namespace openaclnn_test
