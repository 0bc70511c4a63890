// Reports of judged calls: verdicts, the worst elements with what produced them, error statistics and likely causes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "judge/call.h"
#include "judge/rules.h"

namespace openaclnn_judge {

// One of the worst elements of an output.
struct WorstElement {
  std::vector<int64_t> index;
  double device = 0, exact = 0;
  double error = 0;  // |device - exact|
  double ulps = 0;   // the error in ulps of the device's dtype at the exact value
  double share = 0;  // error / (ulp / 2 + bound); 0 without a bound
  std::vector<std::string>
      sources;  // "gradY[3:5, 7] = 0.5, -1.25": the inputs of this element, the first ones if many
};

// Counts of elements by error in ulps: exact, up to 1/2, 1, 2, 4, …
struct UlpHistogram {
  static constexpr int kBins = 34;
  std::array<int64_t, kBins> counts = {};
  int64_t not_finite = 0;  // the device or the golden has NaN or infinities there
};

// The largest and mean error of the elements by the binary exponent of the exact value.
struct MagnitudeBin {
  int exponent = 0;
  int64_t elements = 0;
  double largest_ulps = 0, mean_ulps = 0;
};

struct Cause {
  std::string name;      // "missing-bias-correction"
  std::string text;      // one sentence for the user
  double explained = 0;  // share of the wrong elements that this cause explains
};

struct OutputReport {
  std::string name;
  aclDataType dtype = ACL_DT_UNDEFINED;
  openaclnn_verify::Shape dims;
  int64_t elements = 0, wrong = 0;  // wrong: beyond the bound, or different where no bound is known
  std::vector<Verdict> verdicts;
  std::vector<WorstElement> worst;
  UlpHistogram ulps;
  std::vector<MagnitudeBin> magnitudes;
  std::vector<Cause> causes;

  Result result() const;
};

struct CallReport {
  std::string label, operator_name;
  std::vector<OutputReport> outputs;
  std::string skipped;  // why the call was not judged; empty: it was

  Result result() const;
};

struct JudgeOptions {
  std::vector<std::string> rules = {"openaclnn"};
  Settings settings;
  int worst = 5;  // elements to report for each output
  int threads = 0;
};

// Judges the results of a call against its golden. Throws std::invalid_argument with an error message for
// unknown rules, settings that no chosen rule uses, and results that are missing or have another shape or dtype than the call determines.
CallReport judge_call(const Call& call, const JudgeOptions& options);

// Judges one pair without a call: no golden is computed, and causes are those that need no inputs.
CallReport judge_pair(const std::string& label, const Pair& pair, const JudgeOptions& options);

std::string report_text(const std::vector<CallReport>& reports);
std::string report_json(const std::vector<CallReport>& reports);
// Two pictures side by side: the histogram of errors, and errors by magnitude.
std::string report_svg(const OutputReport& output, const std::string& title);

}  // namespace openaclnn_judge
