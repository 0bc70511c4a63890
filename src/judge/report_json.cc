// Reports as JSON. NaN and infinities are the strings "nan", "inf" and "-inf".
#include <algorithm>

#include "base/json.h"
#include "judge/report.h"
#include "verify/number.h"

namespace openaclnn_judge {

namespace {

using openaclnn::Json;

template <class List, class Write>
void write_list(Json& json, const char* name, const List& list, const Write& write) {
  json.key(name).open('[');
  for (const auto& item : list) write(item);
  json.close(']');
}

void write_verdict(Json& json, const Verdict& verdict) {
  json.open('{').field("rule", verdict.rule).field("result", result_name(verdict.result));
  json.field("reason", verdict.reason);
  write_list(json, "metrics", verdict.metrics, [&](const Metric& metric) {
    json.open('{').field("name", metric.name).field("value", metric.value);
    json.field("accepted", metric.accepted).field("result", result_name(metric.result)).close('}');
  });
  json.close('}');
}

void write_worst(Json& json, const WorstElement& worst) {
  json.open('{').key("index").value(std::span<const int64_t>(worst.index));
  json.field("device", worst.device).field("exact", worst.exact).field("error", worst.error);
  json.field("ulps", worst.ulps).field("shareOfAllowedError", worst.share);
  write_list(json, "sources", worst.sources, [&](const std::string& source) { json.value(source); });
  json.close('}');
}

// Bins without elements are left out. `limit` is in ulps; the last bin has no limit.
void write_histogram(Json& json, const UlpHistogram& histogram) {
  json.key("ulps").open('{').key("bins").open('[');
  for (int bin = 0; bin < UlpHistogram::kBins; ++bin) {
    const int64_t count = histogram.counts[static_cast<size_t>(bin)];
    if (count == 0) continue;
    const bool is_last = bin + 1 == UlpHistogram::kBins;
    const double limit = bin == 0 ? 0 : is_last ? HUGE_VAL : std::ldexp(1.0, bin - 2);
    json.open('{').field("limit", limit).field("elements", count).close('}');
  }
  json.close(']').field("notFinite", histogram.not_finite).close('}');
}

void write_output(Json& json, const OutputReport& output) {
  json.open('{').field("name", output.name).field("dtype", openaclnn_verify::dtype_name(output.dtype));
  json.key("shape").value(std::span<const int64_t>(output.dims));
  json.field("result", result_name(output.result()));
  json.field("elements", output.elements).field("wrong", output.wrong);
  write_list(json, "verdicts", output.verdicts,
             [&](const Verdict& verdict) { write_verdict(json, verdict); });
  write_list(json, "causes", output.causes, [&](const Cause& cause) {
    json.open('{').field("name", cause.name).field("text", cause.text);
    json.field("explained", cause.explained).close('}');
  });
  write_list(json, "worst", output.worst, [&](const WorstElement& worst) { write_worst(json, worst); });
  write_histogram(json, output.ulps);
  write_list(json, "magnitudes", output.magnitudes, [&](const MagnitudeBin& bin) {
    json.open('{').field("exponent", bin.exponent).field("elements", bin.elements);
    json.field("largestUlps", bin.largest_ulps).field("meanUlps", bin.mean_ulps).close('}');
  });
  json.close('}');
}

}  // namespace

std::string report_json(const std::vector<CallReport>& reports) {
  Result worst = Result::skip;
  for (const CallReport& report : reports) worst = std::max(worst, report.result());
  Json out;
  out.open('{').field("result", result_name(worst));
  write_list(out, "calls", reports, [&](const CallReport& report) {
    out.open('{').field("label", report.label).field("operator", report.operator_name);
    out.field("result", result_name(report.result())).field("skipped", report.skipped);
    write_list(out, "outputs", report.outputs,
               [&](const OutputReport& output) { write_output(out, output); });
    out.close('}');
  });
  return out.close('}').text() + "\n";
}

}  // namespace openaclnn_judge
