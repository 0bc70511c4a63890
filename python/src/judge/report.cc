// Reports of judged calls and pairs.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "call.h"
#include "files/errors.h"
#include "judge/dump.h"
#include "judge/report.h"
#include "words.h"

namespace openaclnn::python {

using openaclnn_judge::CallReport;
using openaclnn_judge::JudgeOptions;
using openaclnn_judge::OutputReport;

namespace {

void use_python_names(CallReport& report, const openaclnn_verify::Description& description) {
  const auto translate = [&](std::string& text) { text = with_python_names(text, description); };
  for (OutputReport& output : report.outputs) {
    translate(output.name);
    for (openaclnn_judge::WorstElement& worst : output.worst) std::ranges::for_each(worst.sources, translate);
    for (openaclnn_judge::Cause& cause : output.causes) translate(cause.text);
  }
}

CallReport judge(const Call& call, const JudgeOptions& options) {
  CallReport report;
  try {
    const nb::gil_scoped_release unlocked;
    report = openaclnn_judge::judge_call(call.call(), options);
  } catch (const std::invalid_argument& error) {
    throw nb::value_error(call.in_python(error.what()).c_str());
  }
  use_python_names(report, call.description());
  return report;
}

CallReport judge_dumped(openaclnn_judge::DumpedCall& one, JudgeOptions options) {
  const openaclnn_verify::Description* const description = one.call.description;
  if (!one.skipped.empty())
    return {one.call.label, description == nullptr ? "" : description->name(), {}, one.skipped};
  options.settings.api = std::filesystem::path(one.call.label).filename().string();  // without step and rank
  try {
    CallReport report = openaclnn_judge::judge_call(one.call, options);
    use_python_names(report, *description);
    return report;
  } catch (const std::invalid_argument& error) {
    throw openaclnn_files::BadInput(one.call.label + ": " + with_python_names(error.what(), *description));
  }
}

// `third` is a folder, or empty.
std::vector<CallReport> judge_dump(const std::string& folder, const std::string& third,
                                   const JudgeOptions& options) {
  std::vector<CallReport> reports;
  try {
    const nb::gil_scoped_release unlocked;
    std::map<std::string, openaclnn_judge::Tensors> results;
    if (!third.empty()) {
      openaclnn_judge::for_each_dumped_call(third, [&](openaclnn_judge::DumpedCall one) {
        results[one.call.label] = std::move(one.call.results);
      });
    }
    openaclnn_judge::for_each_dumped_call(folder, [&](openaclnn_judge::DumpedCall one) {
      if (const auto found = results.find(one.call.label); found != results.end())
        one.call.third = std::move(found->second);
      reports.push_back(judge_dumped(one, options));
    });
  } catch (const openaclnn_files::BadInput& error) {
    throw nb::value_error(error.what());
  }
  if (reports.empty())
    throw nb::value_error((folder + " has no calls of operators that openaclnn has").c_str());
  return reports;
}

CallReport judge_pair(const std::string& label, const std::string& name, const HostArray& device,
                      const HostArray& golden, const HostArray* bound, const HostArray* third,
                      const JudgeOptions& options) {
  openaclnn_judge::Pair pair = {name, device.array(), golden.array(), {}, {}};
  if (bound != nullptr) {
    pair.bound.resize(static_cast<size_t>(bound->array().numel()));
    bound->array().widen(0, pair.bound);
  }
  if (third != nullptr) pair.third = third->array();
  const nb::gil_scoped_release unlocked;
  return openaclnn_judge::judge_pair(label, pair, options);
}

nb::list rules() {
  nb::list all;
  for (const openaclnn_judge::Rule& rule : openaclnn_judge::rules())
    all.append(nb::make_tuple(rule.name, rule.summary, rule.source));
  return all;
}

}  // namespace

void add_reports(nb::module_& module) {
  using namespace nb::literals;
  using Number = std::optional<double>;
  nb::class_<JudgeOptions>(module, "Options")
      .def(
          "__init__",
          [](JudgeOptions* self, std::vector<std::string> rules, std::string api, std::string level,
             Number threshold, Number rtol, Number atol, bool equal_nan, int worst, int threads) {
            new (self) JudgeOptions{std::move(rules),
                                    {std::move(api), std::move(level), threshold, rtol, atol, equal_nan},
                                    worst,
                                    threads};
          },
          "rules"_a, "api"_a, "level"_a, "threshold"_a.none(), "rtol"_a.none(), "atol"_a.none(),
          "equal_nan"_a, "worst"_a, "threads"_a);
  nb::class_<CallReport>(module, "CallReport");
  module.def("judge", &judge, "call"_a, "options"_a);
  module.def("judge_pair", &judge_pair, "label"_a, "name"_a, "device"_a, "golden"_a, "bound"_a.none(),
             "third"_a.none(), "options"_a);
  module.def("judge_dump", &judge_dump, "folder"_a, "third"_a, "options"_a);
  module.def("report_text", &openaclnn_judge::report_text, "reports"_a);
  module.def("report_json", &openaclnn_judge::report_json, "reports"_a);
  module.def(
      "report_svg",
      [](const CallReport& report, size_t output, const std::string& title) {
        return openaclnn_judge::report_svg(report.outputs.at(output), title);
      },
      "report"_a, "output"_a, "title"_a);
  module.def("rules", &rules, "(name, summary, source) of each rule.");
}

}  // namespace openaclnn::python
