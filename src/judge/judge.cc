// Judges a call: golden, rules, statistics, sources of the worst elements and likely causes.
#include <algorithm>
#include <stdexcept>

#include "base/text.h"
#include "judge/causes.h"
#include "judge/errors.h"
#include "judge/report.h"
#include "judge/sources.h"
#include "verify/number.h"

namespace openaclnn_judge {

using openaclnn::text;
using openaclnn_verify::Golden;
using openaclnn_verify::GoldenOutput;

namespace {

// A tolerance that changes nothing would be taken for granted.
void require_use(const std::vector<const Rule*>& chosen, unsigned use, const char* setting, bool is_given) {
  const auto has_use = [use](const Rule* rule) { return (rule->uses & use) != 0; };
  if (!is_given || std::ranges::any_of(chosen, has_use)) return;
  std::string those;
  for (const Rule& rule : rules()) {
    if (has_use(&rule)) those += (those.empty() ? "" : ", ") + std::string(rule.name);
  }
  throw std::invalid_argument(text(setting, " is given, but no chosen rule uses it; rules that do: ", those));
}

std::vector<const Rule*> chosen_rules(const JudgeOptions& options) {
  std::vector<const Rule*> chosen;
  for (const std::string& name : options.rules) {
    const Rule* rule = find_rule(name);
    if (rule == nullptr) {
      std::string known;
      for (const Rule& one : rules()) known += (known.empty() ? "" : ", ") + std::string(one.name);
      throw std::invalid_argument(text("there is no rule \"", name, "\"; the rules are ", known));
    }
    chosen.push_back(rule);
  }
  const Settings& settings = options.settings;
  require_use(chosen, kLevel, "level", !settings.level.empty());
  require_use(chosen, kThreshold, "threshold", settings.threshold.has_value());
  require_use(chosen, kTolerances, "rtol", settings.rtol.has_value());
  require_use(chosen, kTolerances, "atol", settings.atol.has_value());
  require_use(chosen, kTolerances, "equal_nan", settings.equal_nan);
  return chosen;
}

std::string tensor_text(const Array& array) {
  return std::string(openaclnn_verify::dtype_name(array.dtype)) + " " + openaclnn::shape_text(array.dims);
}

void require_comparable(const Pair& pair) {
  if (pair.device.dims != pair.golden.dims) {
    throw std::invalid_argument(text(pair.name, " has shape ", openaclnn::shape_text(pair.device.dims),
                                     " but the golden has ", openaclnn::shape_text(pair.golden.dims)));
  }
  for (const Array* array : {&pair.device, &pair.golden}) {
    if (openaclnn_verify::element_bytes(array->dtype) == 0)
      throw std::invalid_argument(text(pair.name, " has a dtype that cannot be judged"));
    if (!array->has_data()) throw std::invalid_argument(text(pair.name, " has no data"));
  }
  if (!pair.bound.empty() && static_cast<int64_t>(pair.bound.size()) != pair.device.numel())
    throw std::invalid_argument(
        text(pair.name, " has ", pair.device.numel(), " elements but ", pair.bound.size(), " bounds"));
  if (!has_numbers(pair) && pair.device.dtype != pair.golden.dtype)
    throw std::invalid_argument(
        text(pair.name, " is ", tensor_text(pair.device), " but the golden is ", tensor_text(pair.golden)));
}

OutputReport judge_output(const Call* call, const Pair& pair, const std::vector<const Rule*>& rules,
                          const JudgeOptions& options) {
  require_comparable(pair);
  OutputReport report;
  report.name = pair.name;
  report.dtype = pair.device.dtype;
  report.dims = pair.device.dims;
  for (const Rule* rule : rules) report.verdicts.push_back(rule->apply(pair, options.settings));
  measure_errors(pair, options.worst, options.threads, report);
  if (report.wrong > 0) report.causes = likely_causes(call, pair, options.threads);
  return report;
}

// The tensors of one result, or nothing.
const Array* find_result(const Tensors& results, const GoldenOutput& output) {
  const auto found = results.find(output.parameter);
  if (found == results.end() || output.list_index >= found->second.size()) return nullptr;
  const Array& array = found->second[output.list_index];
  return array.has_data() ? &array : nullptr;
}

// Every given result must be one that the call determines.
void require_known(const Call& call, const Golden& golden, const Tensors& results, const char* whose) {
  for (const auto& [parameter, arrays] : results) {
    const auto count =
        static_cast<size_t>(std::ranges::count(golden.outputs, parameter, &GoldenOutput::parameter));
    if (count == 0)
      throw std::invalid_argument(text(call.description->name(), " has no result \"", parameter, "\""));
    if (arrays.size() > count)
      throw std::invalid_argument(text(whose, " has ", arrays.size(), " tensors of ", parameter,
                                       ", but the call determines ", count));
  }
}

void require_same(const std::string& name, const Array& given, const GoldenOutput& golden,
                  const char* whose) {
  if (given.dtype == golden.dtype && given.dims == golden.dims) return;
  const Array expected = {golden.dtype, golden.dims, nullptr};
  throw std::invalid_argument(
      text(name, " of ", whose, " is ", tensor_text(given), "; the call determines ", tensor_text(expected)));
}

Pair pair_of(GoldenOutput& output, const Array& device, const Array* third, bool is_list) {
  Pair pair;
  pair.name = output.parameter;
  if (is_list) pair.name += text("[", output.list_index, "]");
  require_same(pair.name, device, output, "the judged device");
  pair.device = device;
  if (third != nullptr) {
    require_same(pair.name, *third, output, "the third device");
    pair.third = *third;
  }
  pair.golden = output.copied.empty()
                    ? openaclnn_verify::array_of_doubles(output.dims, std::move(output.exact))
                    : openaclnn_verify::owned_array(output.dtype, output.dims, std::move(output.copied));
  pair.bound = std::move(output.bound);
  if (static_cast<int64_t>(pair.bound.size()) != pair.device.numel()) pair.bound.clear();
  return pair;
}

void add_sources(const openaclnn_verify::FindSources& find, const GoldenOutput& output,
                 OutputReport& report) {
  for (WorstElement& worst : report.worst) {
    int64_t element = 0;
    for (size_t k = 0; k < worst.index.size(); ++k) element = element * report.dims[k] + worst.index[k];
    worst.sources = find({output.parameter, output.list_index, element}).lines;
  }
}

// One fault explains several outputs. Each output keeps the cause that explains the most outputs. If several do, it keeps its first.
void agree_on_causes(std::vector<OutputReport>& outputs) {
  const auto votes = [&](const Cause& cause) {
    return std::ranges::count_if(outputs, [&](const OutputReport& output) {
      return std::ranges::count(output.causes, cause.text, &Cause::text) > 0;
    });
  };
  std::vector<std::vector<Cause>> agreed;
  for (const OutputReport& output : outputs) {
    const auto best = std::ranges::max_element(output.causes, {}, votes);
    agreed.emplace_back();
    if (best != output.causes.end()) agreed.back().push_back(*best);
  }
  for (size_t k = 0; k < outputs.size(); ++k) outputs[k].causes = std::move(agreed[k]);
}

}  // namespace

CallReport judge_call(const Call& call, const JudgeOptions& options) {
  const std::vector<const Rule*> rules = chosen_rules(options);
  CallReport report;
  report.label = call.label;
  if (call.description != nullptr) report.operator_name = call.description->name();
  Golden golden = golden_of(call, options.threads);
  require_known(call, golden, call.results, "the judged device");
  require_known(call, golden, call.third, "the third device");
  openaclnn_verify::FindSources find;
  const PreparedCall prepared(call);
  for (GoldenOutput& output : golden.outputs) {
    const Array* device = find_result(call.results, output);
    if (device == nullptr) continue;
    const openaclnn_verify::Parameter* parameter = call.description->find(output.parameter);
    const bool is_list = parameter != nullptr && parameter->kind == openaclnn_verify::Kind::tensor_list;
    const Pair pair = pair_of(output, *device, find_result(call.third, output), is_list);
    report.outputs.push_back(judge_output(&call, pair, rules, options));
    if (report.outputs.back().worst.empty()) continue;
    if (!find) find = prepared.sources();
    add_sources(find, output, report.outputs.back());
  }
  if (report.outputs.empty()) throw std::invalid_argument("the call has no results to judge");
  agree_on_causes(report.outputs);
  return report;
}

CallReport judge_pair(const std::string& label, const Pair& pair, const JudgeOptions& options) {
  const std::vector<const Rule*> rules = chosen_rules(options);
  CallReport report;
  report.label = label;
  report.outputs.push_back(judge_output(nullptr, pair, rules, options));
  agree_on_causes(report.outputs);
  return report;
}

}  // namespace openaclnn_judge
