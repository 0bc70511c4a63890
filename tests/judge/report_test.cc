// Reports of judged calls: the errors that they locate, texts, JSON and pictures.
#include "judge/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "judge/small_calls.h"

namespace openaclnn_judge {
namespace {

using openaclnn_test::array_of;
using openaclnn_test::bias_call;
using openaclnn_test::call_of;
using openaclnn_test::compress_call;
using openaclnn_test::ema_call;
using openaclnn_test::list_call;
using openaclnn_test::values_of;
using openaclnn_verify::array_of_doubles;
using openaclnn_verify::Shape;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Call with_results_of_this_library(Call call) {
  const OurResults ours = run_here(call);
  EXPECT_EQ(ours.fault, "");
  call.results = ours.results;
  return call;
}

void change(Call& call, const std::string& parameter, int64_t element, double value, size_t list_index = 0) {
  Array& array = call.results.at(parameter).at(list_index);
  std::vector<double> values = values_of(array);
  values.at(static_cast<size_t>(element)) = value;
  array = array_of(array.dtype, array.dims, values);
}

std::string error_of(const Call& call, const JudgeOptions& options = {}) {
  try {
    judge_call(call, options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

using Lines = std::vector<std::string>;

TEST(JudgeCall, CorrectResultsPass) {
  for (const Call& call : {bias_call(), ema_call(), list_call(), compress_call()}) {
    const CallReport report = judge_call(with_results_of_this_library(call), {});
    EXPECT_EQ(report.result(), Result::pass) << call.label;
    EXPECT_EQ(report.operator_name, call.description->name());
    for (const OutputReport& output : report.outputs) {
      EXPECT_EQ(output.wrong, 0);
      EXPECT_TRUE(output.causes.empty());
      EXPECT_EQ(output.verdicts.at(0).rule, "openaclnn");
    }
  }
}

// A kernel with an error of 2 ulps at one element: the report names its place, its error and its inputs.
TEST(JudgeCall, LocatesAnErrorOf2Ulps) {
  for (const aclDataType dtype : {ACL_FLOAT16, ACL_BF16}) {
    Call call = bias_call();
    call.inputs["gradY"][0] = array_of(dtype, {5, 2}, values_of(call.inputs["gradY"][0]));
    call = with_results_of_this_library(call);
    change(call, "out", 2, 24 + 2 * openaclnn_verify::ulp(dtype, 24));
    const CallReport report = judge_call(call, {});
    EXPECT_EQ(report.result(), Result::error);
    const OutputReport& output = report.outputs.at(0);
    EXPECT_EQ(output.wrong, 1);
    EXPECT_TRUE(output.causes.empty());
    ASSERT_EQ(output.worst.size(), 1u);
    EXPECT_EQ(output.worst[0].index, (std::vector<int64_t>{1, 0}));
    EXPECT_EQ(output.worst[0].ulps, 2);
    EXPECT_EQ(output.worst[0].exact, 24);
    EXPECT_EQ(output.worst[0].sources,
              (Lines{"gradY[1:5, 0] = 3, 5, 7, 9", "groupIdxOptional[1] = 5: rows 1 to 5, end excluded"}));
  }
}

// In FLOAT, a correct sum in another order may be 2 ulps away. The rule bitwise rejects it, and the report names it.
TEST(JudgeCall, LocatesAnErrorWithinTheBound) {
  Call call = with_results_of_this_library(bias_call());
  change(call, "out", 2, 24 + 2 * 0x1p-19);
  JudgeOptions options;
  EXPECT_EQ(judge_call(call, options).result(), Result::pass);
  options.rules = {"bitwise"};
  const CallReport report = judge_call(call, options);
  EXPECT_EQ(report.result(), Result::error);
  const OutputReport& output = report.outputs.at(0);
  EXPECT_EQ(output.wrong, 0);
  ASSERT_EQ(output.worst.size(), 1u);
  EXPECT_EQ(output.worst[0].index, (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(output.worst[0].ulps, 2);
  EXPECT_LT(output.worst[0].share, 1);
}

TEST(JudgeCall, ListsHaveOneReportForEachTensor) {
  Call call = with_results_of_this_library(list_call());
  change(call, "varRefs", 0, 100, 1);
  const CallReport report = judge_call(call, {});
  std::vector<std::string> names;
  for (const OutputReport& output : report.outputs) {
    names.push_back(output.name);
    EXPECT_EQ(output.result(), output.name == "varRefs[1]" ? Result::error : Result::pass);
    if (output.name != "varRefs[1]") continue;
    EXPECT_EQ(output.worst.at(0).index, std::vector<int64_t>());
    EXPECT_EQ(output.worst[0].sources.at(1), "varRefs[1][] = 4");
  }
  std::ranges::sort(names);
  EXPECT_EQ(names, (Lines{"mRefs[0]", "mRefs[1]", "sRefs[0]", "sRefs[1]", "vRefs[0]", "vRefs[1]",
                          "varRefs[0]", "varRefs[1]"}));
}

TEST(JudgeCall, EmptyTensorsAndNan) {
  Call empty = call_of("aclnnGroupedBiasAddGradV2");
  add_input(empty, "gradY", array_of(ACL_FLOAT, {0, 2}, {}));
  add_input(empty, "groupIdxOptional", array_of(ACL_INT64, {0}, {}));
  empty = with_results_of_this_library(empty);
  const CallReport report = judge_call(empty, {});
  EXPECT_EQ(report.outputs.at(0).elements, 0);
  EXPECT_LE(report.result(), Result::pass);

  Call call = bias_call();
  call.inputs["gradY"][0] = array_of(ACL_FLOAT, {5, 2}, {kNan, 2, kInfinity, 4, 5, 6, 7, -kInfinity, 9, 10});
  call = with_results_of_this_library(call);
  EXPECT_EQ(judge_call(call, {}).result(), Result::pass);
  change(call, "out", 0, 3);  // the exact result is NaN
  const OutputReport output = judge_call(call, {}).outputs.at(0);
  EXPECT_EQ(output.wrong, 1);
  EXPECT_EQ(output.worst.at(0).index, (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(output.ulps.not_finite, 3);
}

TEST(JudgeCall, ErrorMessagesNameTheResult) {
  const Call right = with_results_of_this_library(bias_call());
  EXPECT_EQ(error_of(right), "");
  EXPECT_EQ(error_of(bias_call()), "the call has no results to judge");

  Call call = right;
  call.results["out"][0] = array_of(ACL_FLOAT, {2, 3}, std::vector<double>(6));
  EXPECT_EQ(error_of(call), "out has shape [2, 3]; it must be [3, 2]");
  call.results["out"][0] = array_of(ACL_BF16, {3, 2}, std::vector<double>(6));
  EXPECT_EQ(error_of(call), "out is BF16; it must be FLOAT, as gradY");
  Call updated = with_results_of_this_library(ema_call());
  updated.results["mRef"][0] = array_of(ACL_FLOAT, {4}, {1, 2, 3, 4});
  EXPECT_EQ(error_of(updated), "mRef of the judged device is FLOAT [4]; the call determines FLOAT [2, 2]");
  call = right;
  call.third["out"] = {array_of(ACL_FLOAT, {6}, std::vector<double>(6))};
  EXPECT_EQ(error_of(call), "out of the third device is FLOAT [6]; the call determines FLOAT [3, 2]");
  call = right;
  call.results["result"] = call.results["out"];
  EXPECT_EQ(error_of(call), "GroupedBiasAddGradV2 has no result \"result\"");
  call = right;
  call.results["out"].push_back(call.results["out"][0]);
  EXPECT_EQ(error_of(call), "the judged device has 2 tensors of out, but the call determines 1");
  call = right;
  call.inputs["groupIdxOptional"][0] = array_of(ACL_INT64, {3}, {1, 5, 4});
  EXPECT_NE(error_of(call).find("groupIdx"), std::string::npos) << error_of(call);
  EXPECT_NE(error_of({}), "");

  JudgeOptions options;
  options.rules = {"quick", "fast"};
  EXPECT_TRUE(error_of(right, options).starts_with("there is no rule \"fast\"; the rules are "))
      << error_of(right, options);
  EXPECT_NE(error_of(right, options).find("quick, "), std::string::npos);
}

TEST(JudgePair, ErrorMessagesNameThePair) {
  const auto error_of_pair = [](const Pair& pair) -> std::string {
    try {
      judge_pair("pair", pair, {});
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  const Array two = array_of(ACL_FLOAT, {2}, {1, 2});
  EXPECT_EQ(error_of_pair({"y", two, two, {}, {}}), "");
  EXPECT_EQ(error_of_pair({"y", two, array_of(ACL_FLOAT, {1}, {1}), {}, {}}),
            "y has shape [2] but the golden has [1]");
  EXPECT_EQ(error_of_pair({"y", {ACL_FLOAT, {2}, nullptr}, two, {}, {}}), "y has no data");
  EXPECT_EQ(error_of_pair({"y", two, two, {1, 2, 3}, {}}), "y has 2 elements but 3 bounds");
  const Array complex = openaclnn_verify::owned_array(ACL_COMPLEX64, {2}, std::vector<std::byte>(16));
  EXPECT_EQ(error_of_pair({"y", complex, two, {}, {}}), "y is COMPLEX64 [2] but the golden is FLOAT [2]");
}

// ---- Formats ----

CallReport small_report() {
  Call call = with_results_of_this_library(bias_call());
  call.label = "NPU.bias.0.backward";
  change(call, "out", 1, 2.5);
  change(call, "out", 2, kNan);
  JudgeOptions options;
  options.worst = 2;
  return judge_call(call, options);
}

TEST(Text, SaysWhereAndWhy) {
  CallReport report = small_report();
  OutputReport& output = report.outputs[0];
  output.verdicts = {
      {"example", Result::error, "two elements are wrong", {{"wrong elements", 2, "0", Result::error}}}};
  output.causes = {{"example-cause", "One sentence.", .985}};
  EXPECT_EQ(
      report_text({report}),
      R"(NPU.bias.0.backward  (GroupedBiasAddGradV2)                                                error
  out  FLOAT [3, 2]  6 elements, 2 wrong                                                   error
    example           error    two elements are wrong
      wrong elements                                                2  accepted 0  error
    likely cause: example-cause, explains 98.5 % of the wrong elements. One sentence.
    worst elements
      [1, 0] device nan, exact 24, inf ulps
          gradY[1:5, 0] = 3, 5, 7, 9
          groupIdxOptional[1] = 5: rows 1 to 5, end excluded
      [0, 1] device 2.5, exact 2, 2,097,152 ulps, 4,194,304 x the allowed error
          gradY[0, 1] = 2
          groupIdxOptional[0] = 1: rows 0 to 1, end excluded
    errors in ulps
      exact                   4    66.7 % #################################
      <= 2^21                 1    16.7 % ########
      not finite              1    16.7 % ########

1 call: 1 error
)");
}

TEST(Text, HasAtMost100Columns) {
  std::istringstream lines(report_text({small_report(), small_report()}));
  int64_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 100u) << line;
  EXPECT_GT(count, 20);
}

TEST(Text, CountsCallsByResult) {
  CallReport skipped;
  skipped.label = "NPU.other.0.forward";
  skipped.skipped = "the operator is unknown";
  const std::string text = report_text({small_report(), skipped});
  EXPECT_NE(text.find("not judged: the operator is unknown"), std::string::npos);
  EXPECT_TRUE(text.ends_with("2 calls: 1 error, 1 skip\n")) << text;
  EXPECT_EQ(report_text({}), "0 calls\n");
}

TEST(Json, HasEveryNumber) {
  CallReport report = small_report();
  report.label = "a \"label\"\n\xff";
  const nlohmann::json json = nlohmann::json::parse(report_json({report}));
  EXPECT_EQ(json.at("result"), "error");
  const nlohmann::json& call = json.at("calls").at(0);
  EXPECT_EQ(call.at("label").get<std::string>().substr(0, 10), "a \"label\"\n");
  EXPECT_EQ(call.at("operator"), "GroupedBiasAddGradV2");
  const nlohmann::json& output = call.at("outputs").at(0);
  EXPECT_EQ(output.at("name"), "out");
  EXPECT_EQ(output.at("dtype"), "FLOAT");
  EXPECT_EQ(output.at("shape"), nlohmann::json({3, 2}));
  EXPECT_EQ(output.at("elements"), 6);
  EXPECT_EQ(output.at("wrong"), 2);
  EXPECT_EQ(output.at("verdicts").at(0).at("rule"), "openaclnn");
  EXPECT_EQ(output.at("verdicts").at(0).at("result"), "error");
  const nlohmann::json& worst = output.at("worst");
  ASSERT_EQ(worst.size(), 2u);
  EXPECT_EQ(worst.at(0).at("index"), nlohmann::json({1, 0}));
  EXPECT_EQ(worst.at(0).at("device"), "nan");
  EXPECT_EQ(worst.at(0).at("ulps"), "inf");
  EXPECT_EQ(worst.at(1).at("exact"), 2);
  EXPECT_EQ(worst.at(1).at("sources").at(0), "gradY[0, 1] = 2");
  EXPECT_EQ(output.at("ulps").at("notFinite"), 1);
  int64_t elements = 0;
  for (const nlohmann::json& bin : output.at("ulps").at("bins"))
    elements += bin.at("elements").get<int64_t>();
  EXPECT_EQ(elements, 5);
  elements = 0;
  for (const nlohmann::json& bin : output.at("magnitudes")) elements += bin.at("elements").get<int64_t>();
  EXPECT_EQ(elements, 3);  // without zeros and NaN
  EXPECT_EQ(nlohmann::json::parse(report_json({})).at("calls").size(), 0u);
}

// An XML parser reads the picture.
void expect_xml(const std::string& text) {
  std::FILE* const parser =
      popen("python3 -c 'import sys, xml.dom.minidom as dom; dom.parse(sys.stdin.buffer)'", "w");
  ASSERT_NE(parser, nullptr);
  std::fwrite(text.data(), 1, text.size(), parser);
  EXPECT_EQ(pclose(parser), 0) << text;
}

TEST(Svg, IsXml) {
  const OutputReport output = small_report().outputs.at(0);
  expect_xml(report_svg(output, "NPU.bias.0.backward"));
  expect_xml(report_svg(output, "<a> & \"b\" \x01 \xff \xc3\xa4"));
  expect_xml(report_svg({}, ""));
  std::string umlauts;
  for (int k = 0; k < 100; ++k) umlauts += "\xc3\xa4";
  expect_xml(report_svg(output, umlauts));
  EXPECT_EQ(report_svg(output, umlauts).find("\xc3..."), std::string::npos);  // no half character
  EXPECT_NE(report_svg(output, "a").find("2 of 6 elements wrong"), std::string::npos);
}

}  // namespace
}  // namespace openaclnn_judge
