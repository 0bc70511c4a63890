// Reports as plain text of at most 100 columns, for terminals and logs of CI.
#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "base/text.h"
#include "judge/report.h"
#include "judge/words.h"
#include "verify/number.h"

namespace openaclnn_judge {

namespace {

constexpr size_t kColumns = 100;

// Appends text after `lead`, in lines that start below its first word.
void wrap(std::string& out, const std::string& lead, const std::string& text) {
  std::istringstream words(text);
  std::string line = lead, word;
  bool is_empty = true;
  while (words >> word) {
    if (!is_empty && line.size() + 1 + word.size() > kColumns) {
      out += line + "\n";
      line = std::string(lead.size(), ' ');
      is_empty = true;
    }
    if (!is_empty) line += ' ';
    line += word;
    is_empty = false;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + "\n";
}

std::string padded(std::string text, size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

std::string right_aligned(const std::string& text, size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

// A report of many calls shows the numbers of verdicts only where they matter.
enum class Metrics { all, of_problems };

void add_verdict(std::string& out, const Verdict& verdict, Metrics metrics) {
  wrap(out, "    " + padded(verdict.rule, 18) + padded(result_name(verdict.result), 9), verdict.reason);
  if (metrics == Metrics::of_problems && verdict.result <= Result::pass) return;
  for (const Metric& metric : verdict.metrics) {
    std::string line =
        "      " + padded(metric.name, 48) + " " + right_aligned(number_text(metric.value), 14);
    if (!metric.accepted.empty()) line += "  accepted " + metric.accepted;
    if (metric.result > Result::pass) line += std::string("  ") + result_name(metric.result);
    out += line + "\n";
  }
}

// "0.5", "12.25", "2,097,152"
std::string ulps_text(double ulps) {
  constexpr double kLeastWhole = 1000, kMostWhole = 1e15;
  if (ulps < kLeastWhole || !(ulps < kMostWhole)) return number_text(ulps, 4);
  return count_text(std::llround(ulps));
}

void add_worst(std::string& out, const OutputReport& output) {
  if (output.worst.empty()) return;
  out += "    worst elements\n";
  for (const WorstElement& worst : output.worst) {
    std::string line = "      " + openaclnn::shape_text(worst.index) + "  device " +
                       number_text(worst.device, 9) + ", exact " + number_text(worst.exact, 12) + ", " +
                       ulps_text(worst.ulps) + " ulps";
    if (worst.share > 0 && std::isfinite(worst.share))
      line += ", " + ulps_text(worst.share) + " x the allowed error";
    wrap(out, "      ", line);
    for (const std::string& source : worst.sources) wrap(out, "          ", source);
  }
}

std::string histogram_label(size_t bin) {
  if (bin == 0) return "exact";
  if (bin == 1) return "<= 1/2";
  if (bin + 1 == UlpHistogram::kBins) return "> 2^30";
  if (bin <= 12) return "<= " + std::to_string(int64_t{1} << (bin - 2));
  return "<= 2^" + std::to_string(bin - 2);
}

void add_histogram(std::string& out, const OutputReport& output) {
  if (output.elements == 0) return;
  constexpr size_t kBar = 50;
  out += "    errors in ulps\n";
  const auto row = [&](const std::string& label, int64_t count) {
    const double share = static_cast<double>(count) / static_cast<double>(output.elements);
    const auto length = static_cast<size_t>(share * kBar + .5);
    std::string line = "      " + padded(label, 11) + right_aligned(count_text(count), 14) + " " +
                       right_aligned(percent_text(share), 9);
    if (length > 0) line += " " + std::string(length, '#');
    out += line + "\n";
  };
  for (size_t bin = 0; bin < output.ulps.counts.size(); ++bin) {
    if (output.ulps.counts[bin] > 0) row(histogram_label(bin), output.ulps.counts[bin]);
  }
  if (output.ulps.not_finite > 0) row("not finite", output.ulps.not_finite);
}

void add_causes(std::string& out, const OutputReport& output) {
  for (const Cause& cause : output.causes) {
    wrap(
        out, "    likely cause: ",
        cause.name + ", explains " + percent_text(cause.explained) + " of the wrong elements. " + cause.text);
  }
}

void add_output(std::string& out, const OutputReport& output, Metrics metrics) {
  std::string line = "  " + output.name + "  " + openaclnn_verify::dtype_name(output.dtype) + " " +
                     openaclnn::shape_text(output.dims) + "  " +
                     counted(output.elements, "element", "elements") + ", " + count_text(output.wrong) +
                     " wrong";
  out += padded(line, kColumns - 10) + " " + result_name(output.result()) + "\n";
  for (const Verdict& verdict : output.verdicts) add_verdict(out, verdict, metrics);
  add_causes(out, output);
  if (output.wrong > 0 || output.result() > Result::pass) {
    add_worst(out, output);
    add_histogram(out, output);
  }
}

}  // namespace

Result OutputReport::result() const {
  Result all = Result::skip;
  for (const Verdict& verdict : verdicts) all = std::max(all, verdict.result);
  return all;
}

Result CallReport::result() const {
  Result all = Result::skip;
  for (const OutputReport& output : outputs) all = std::max(all, output.result());
  return all;
}

std::string report_text(const std::vector<CallReport>& reports) {
  std::string out;
  std::map<Result, int64_t> counts;
  for (const CallReport& report : reports) {
    ++counts[report.result()];
    std::string line = report.label;
    if (!report.operator_name.empty() && report.operator_name != report.label)
      line += "  (" + report.operator_name + ")";
    out += padded(line, kColumns - 10) + " " + result_name(report.result()) + "\n";
    if (!report.skipped.empty()) wrap(out, "  not judged: ", report.skipped);
    for (const OutputReport& output : report.outputs)
      add_output(out, output, reports.size() == 1 ? Metrics::all : Metrics::of_problems);
    out += "\n";
  }
  std::string summary = counted(static_cast<int64_t>(reports.size()), "call", "calls") + ":";
  for (const Result result : {Result::error, Result::warning, Result::pass, Result::skip}) {
    if (counts[result] == 0) continue;
    if (summary.back() != ':') summary += ",";
    summary += " " + count_text(counts[result]) + " " + result_name(result);
  }
  if (reports.empty()) summary = "0 calls";
  return out + summary + "\n";
}

}  // namespace openaclnn_judge
