// openaclnn judge: the results of any device against goldens, under named acceptance rules.
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "arguments.h"
#include "files/tensor_file.h"
#include "host_call.h"
#include "judge/dump.h"
#include "judge/errors.h"
#include "judge/report.h"
#include "new_file.h"
#include "program.h"
#include "terminal.h"
#include "verify/number.h"

namespace openaclnn_cli {

namespace fs = std::filesystem;
using openaclnn_judge::Call;
using openaclnn_judge::CallReport;
using openaclnn_judge::DumpedCall;
using openaclnn_judge::Tensors;
using openaclnn_verify::Array;
using openaclnn_verify::Description;
using openaclnn_verify::Kind;
using openaclnn_verify::Parameter;

namespace {

constexpr char kExample[] =
    "Examples:\n"
    "  openaclnn judge FOLDER\n"
    "  openaclnn judge result.npy golden.npy --rule assert-close\n"
    "  openaclnn judge GroupedBiasAddGrad --grad-y grad.npy --group-idx 3,7 --result out.npy\n"
    "FOLDER is a dump of msprobe, or of openaclnn (section `dump` of acl.json). Its calls of operators that\n"
    "openaclnn has are judged against goldens, which openaclnn computes from their inputs.\n"
    "RESULT and GOLDEN are two tensors in files.\n"
    "With the name of an operator, the options of `openaclnn run` give the inputs.\n"
    "The exit code is 1 if a rule reports an error, or if nothing was judged.";

struct Judging {
  std::vector<std::string> sources;  // a folder, or a result and its golden
  std::string bound, third, pictures;
  openaclnn_judge::JudgeOptions options;
  bool json = false, list_rules = false;
};

Array read_array(const std::string& source) {
  openaclnn_files::FileTensor tensor = openaclnn_files::read_tensor(source);
  return openaclnn_verify::owned_array(tensor.dtype, tensor.dims, std::move(tensor.bytes));
}

// Calls `work`. Errors in data and options become BadInput, with the label of the call.
template <class Work>
CallReport judged(const std::string& label, const Work& work) {
  try {
    return work();
  } catch (const std::invalid_argument& error) {
    throw BadInput(fmt::format("{}: {}", label, error.what()));
  }
}

// A name for a file: other characters become underscores.
std::string file_name(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '-'; }, '_');
  return text.starts_with('.') ? "_" + text : text;
}

// Called before judging, which may take long.
void make_picture_folder(const Judging& judging) {
  if (judging.pictures.empty()) return;
  std::error_code error;
  fs::create_directories(judging.pictures, error);
  if (!error && access(judging.pictures.c_str(), W_OK | X_OK) != 0) error = {errno, std::generic_category()};
  if (error) throw Failure(fmt::format("--pictures {}: {}", shown(judging.pictures), error.message()));
}

void save_pictures(const std::vector<CallReport>& reports, const std::string& folder) {
  for (const CallReport& report : reports) {
    for (const openaclnn_judge::OutputReport& output : report.outputs) {
      NewFile file(fmt::format("{}/{}.svg", folder, file_name(report.label + "." + output.name)));
      file.append(openaclnn_judge::report_svg(output, report.label));
      file.publish();
    }
  }
}

int finish(const std::vector<CallReport>& reports, const Judging& judging) {
  if (judging.json) {
    print_json(nlohmann::json::parse(openaclnn_judge::report_json(reports)));
  } else {
    // A label is the name of a file or folder, which may contain line breaks.
    std::vector<CallReport> lines = reports;
    for (CallReport& report : lines) report.label = printable(report.label);
    fmt::print("{}", printable_lines(openaclnn_judge::report_text(lines)));
  }
  if (!judging.pictures.empty()) save_pictures(reports, judging.pictures);
  auto worst = openaclnn_judge::Result::skip;
  for (const CallReport& report : reports) worst = std::max(worst, report.result());
  const bool is_accepted =
      worst == openaclnn_judge::Result::pass || worst == openaclnn_judge::Result::warning;
  return is_accepted ? kFine : kProblem;
}

std::vector<const openaclnn_judge::Rule*> rules_with(openaclnn_judge::Use use) {
  std::vector<const openaclnn_judge::Rule*> found;
  for (const openaclnn_judge::Rule& rule : openaclnn_judge::rules()) {
    if ((rule.uses & use) != 0) found.push_back(&rule);
  }
  return found;
}

// Returns the first chosen rule with this use, or nullptr.
const openaclnn_judge::Rule* chosen_rule(const Judging& judging, openaclnn_judge::Use use) {
  for (const openaclnn_judge::Rule* rule : rules_with(use)) {
    if (std::ranges::count(judging.options.rules, rule->name) > 0) return rule;
  }
  return nullptr;
}

// A rule that skips every result would be taken for one that accepts them.
void require_third(const Judging& judging, bool is_given) {
  const openaclnn_judge::Rule* const rule = chosen_rule(judging, openaclnn_judge::kThird);
  if (rule != nullptr && !is_given)
    throw BadInput(fmt::format("the rule {} needs the results of a third device: add --third", rule->name));
  if (rule != nullptr || !is_given) return;
  std::vector<std::string> those;
  for (const openaclnn_judge::Rule* one : rules_with(openaclnn_judge::kThird)) those.emplace_back(one->name);
  throw BadInput(
      fmt::format("--third is given, but no chosen rule uses it; rules that do: {}", fmt::join(those, ", ")));
}

// Returns the elements of the file. NaN means that the bound is unknown, as in the files of `openaclnn golden`.
openaclnn_verify::ZeroedDoubles read_bound(const std::string& file, const Array& result,
                                           const std::string& result_file) {
  const Array bound = read_array(file);
  if (openaclnn_verify::float_format(bound.dtype) == nullptr)
    throw BadInput(fmt::format("--bound {} has dtype {}; bounds are floating-point numbers", shown(file),
                               openaclnn_verify::dtype_name(bound.dtype)));
  if (bound.dims != result.dims)
    throw BadInput(fmt::format("--bound {} must have the shape of {}", shown(file), shown(result_file)));
  openaclnn_verify::ZeroedDoubles elements(static_cast<size_t>(bound.numel()));
  bound.widen(0, elements);
  const auto negative = std::ranges::find_if(elements, [](double element) { return element < 0; });
  if (negative != elements.end()) {
    const std::vector<int64_t> index = openaclnn_judge::index_of(negative - elements.begin(), bound.dims);
    throw BadInput(fmt::format("--bound {} is {} at [{}]; a bound is at least 0, or NaN", shown(file),
                               *negative, fmt::join(index, ", ")));
  }
  return elements;
}

int print_rules(bool as_json) {
  nlohmann::json list = nlohmann::json::array();
  Table table({"rule", "accepts", "needs", "published in"});
  for (const openaclnn_judge::Rule& rule : openaclnn_judge::rules()) {
    const bool needs_third = (rule.uses & openaclnn_judge::kThird) != 0,
               needs_bound = (rule.uses & openaclnn_judge::kBound) != 0;
    const char* const needs = needs_third ? "--third" : needs_bound ? "a bound" : "";
    table.add({rule.name, rule.summary, needs, rule.source});
    list.push_back({{"name", rule.name},
                    {"summary", rule.summary},
                    {"needsThird", needs_third},
                    {"needsBound", needs_bound},
                    {"source", rule.source}});
  }
  if (as_json) {
    print_json(list);
  } else {
    table.print();
  }
  return kFine;
}

// The results that a third device recorded for the same call.
Tensors results_of(const std::string& label, const std::vector<DumpedCall>& calls) {
  const auto found = std::ranges::find(calls, label, [](const DumpedCall& one) { return one.call.label; });
  return found == calls.end() ? Tensors() : found->call.results;
}

CallReport judge_dumped(DumpedCall one, const std::vector<DumpedCall>& third, const Judging& judging) {
  if (!one.skipped.empty()) {
    const std::string name = one.call.description == nullptr ? "" : one.call.description->name();
    return {one.call.label, name, {}, one.skipped};
  }
  one.call.third = results_of(one.call.label, third);
  openaclnn_judge::JudgeOptions options = judging.options;
  options.settings.api = fs::path(one.call.label).filename().string();  // without step and rank
  return openaclnn_judge::judge_call(one.call, options);
}

int judge_folder(const Judging& judging) {
  const std::string& folder = judging.sources[0];
  make_picture_folder(judging);
  std::vector<DumpedCall> third;
  if (!judging.third.empty()) third = openaclnn_judge::read_dump(judging.third);
  std::vector<CallReport> reports;
  openaclnn_judge::for_each_dumped_call(folder, [&](DumpedCall one) {
    const std::string label = one.call.label;
    reports.push_back(judged(label, [&] { return judge_dumped(std::move(one), third, judging); }));
  });
  if (reports.empty())
    throw BadInput(fmt::format("{} has no calls of operators that openaclnn has", shown(folder)));
  return finish(reports, judging);
}

int judge_files(const Judging& judging) {
  const std::string& result = judging.sources[0];
  openaclnn_judge::Pair pair;
  pair.name = "result";
  pair.device = read_array(result);
  pair.golden = read_array(judging.sources[1]);
  if (!judging.third.empty()) pair.third = read_array(judging.third);
  if (!judging.bound.empty()) pair.bound = read_bound(judging.bound, pair.device, result);
  const openaclnn_judge::Rule* const bounded = chosen_rule(judging, openaclnn_judge::kBound);
  const bool is_float = openaclnn_verify::float_format(pair.device.dtype) != nullptr;
  if (bounded != nullptr && judging.bound.empty() && is_float && judging.options.rules.size() > 1)
    throw BadInput(fmt::format("the rule {} needs the bounds of the golden: add --bound", bounded->name));
  if (bounded == nullptr && !judging.bound.empty() && !judging.options.rules.empty())
    throw BadInput("--bound is given, but no chosen rule uses it; openaclnn does");
  make_picture_folder(judging);
  return finish({judged(result, [&] { return openaclnn_judge::judge_pair(result, pair, judging.options); })},
                judging);
}

int judge_sources(const Judging& judging) {
  if (judging.list_rules) return print_rules(judging.json);
  if (judging.sources.empty())
    throw BadInput(
        "`openaclnn judge` requires a dump folder, a result and its golden, or an operator; "
        "`openaclnn judge --help` has examples");
  require_third(judging, !judging.third.empty());
  if (judging.sources.size() == 2) return judge_files(judging);
  std::error_code error;
  const fs::file_status status = fs::status(judging.sources[0], error);
  if (!fs::exists(status)) throw BadInput(fmt::format("{} does not exist", shown(judging.sources[0])));
  if (!fs::is_directory(status))
    throw BadInput(fmt::format("{} isn't a folder; to judge a file, add its golden, or the operator's name",
                               shown(judging.sources[0])));
  if (!judging.bound.empty()) throw BadInput("--bound applies to a result and its golden, not to a dump");
  return judge_folder(judging);
}

// Reads results of an operator: "FILE" or "NAME=FILE". Several files with one name are those of a list.
Tensors read_results(const Description& description, const std::vector<std::string>& words,
                     const char* option) {
  Tensors results;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const std::string name = equals == std::string::npos ? "" : word.substr(0, equals);
    const Parameter* found = nullptr;
    size_t matching = 0;
    for (const Parameter& parameter : description.parameters) {
      if (!parameter.is_result() || (!name.empty() && name != result_name(parameter))) continue;
      found = &parameter;
      ++matching;
    }
    if (matching == 0)
      throw BadInput(fmt::format("{} {}: unknown result '{}'; the results are {}", option, shown(word),
                                 shown(name), result_names(description)));
    if (matching > 1)
      throw BadInput(fmt::format("{} {}: {} has several results; write NAME=FILE with one of {}", option,
                                 shown(word), description.name(), result_names(description)));
    std::vector<Array>& arrays = results[found->name];
    if (!arrays.empty() && found->kind != Kind::tensor_list)
      throw BadInput(fmt::format("{} {}: {} is given twice", option, shown(word), result_name(*found)));
    arrays.push_back(read_array(name.empty() ? word : word.substr(equals + 1)));
  }
  return results;
}

struct OperatorJudging {
  Judging common;
  GivenOptions given;
  std::vector<std::string> results, third;
};

// Options before the operator's name are those of files and dumps, so they would have no effect.
void require_unused(const CLI::App& judge, const CLI::App& command) {
  for (const CLI::Option* const option : judge.get_options()) {
    if (option->count() == 0) continue;
    const std::string name = option->get_name();
    if (option->get_positional() && option->get_lnames().empty())
      throw BadInput(fmt::format("'{}' is before {}; a result of the operator is given by --result",
                                 shown(option->results()[0]), command.get_name()));
    if (command.get_option_no_throw(name) == nullptr)
      throw BadInput(fmt::format("{} doesn't apply to an operator", name));
    throw BadInput(fmt::format("{} is before {}, where it has no effect; write it after {}", name,
                               command.get_name(), command.get_name()));
  }
}

int judge_operator(const Description& description, const OperatorJudging& judging) {
  require_third(judging.common, !judging.third.empty());
  Call call = call_of(description, read_arguments(description, judging.given));
  call.results = read_results(description, judging.results, "--result");
  call.third = read_results(description, judging.third, "--third");
  make_picture_folder(judging.common);
  return finish(
      {judged(description.name(), [&] { return openaclnn_judge::judge_call(call, judging.common.options); })},
      judging.common);
}

template <class Number>
void add_number(CLI::App& command, const std::string& name, Number& to, const std::string& what) {
  command.add_option(name, to, what)->check(number_from_0())->type_name("NUMBER");
}

void add_rule_options(CLI::App& command, Judging& judging) {
  openaclnn_judge::JudgeOptions& options = judging.options;
  std::vector<std::string> names;
  for (const openaclnn_judge::Rule& rule : openaclnn_judge::rules()) names.emplace_back(rule.name);
  command
      .add_option("--rule", options.rules,
                  "A rule; may be repeated. `openaclnn judge --list-rules` prints all")
      ->check(one_of(names))
      ->type_name("NAME")
      ->expected(1)
      ->take_all()
      ->default_str("openaclnn");
  command
      .add_option("--level", options.settings.level,
                  "Limits of the rules benchmark, acceptance and msprobe-26")
      ->check(one_of({"L0", "L1", "L2"}))
      ->type_name("L0|L1|L2");
  add_number(command, "--threshold", options.settings.threshold,
             "Limit of the rules mere-mare, attention, dynamo and transformer-engine");
  add_number(command, "--rtol", options.settings.rtol, "Relative tolerance of allclose and similar rules");
  add_number(command, "--atol", options.settings.atol, "Absolute tolerance of allclose and similar rules");
  command.add_flag("--equal-nan", options.settings.equal_nan, "NaN equals NaN in allclose and similar rules");
  command.add_option("--worst", options.worst, "Number of elements to show for each output")
      ->check(integer_up_to(1000))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--threads", options.threads, "Number of threads; 0: one for each CPU")
      ->check(integer_up_to(1024))
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--pictures", judging.pictures, "Write a picture of each output's errors, as .svg files")
      ->type_name("FOLDER");
  add_json_option(command, judging.json);
}

void add_judge_of(Program& program, CLI::App& parent, const Description& description) {
  const auto judging = std::make_shared<OperatorJudging>();
  CLI::App* const command =
      add_command(program, parent, description.name(), fmt::format("Judge results of {}", description.name()),
                  fmt::format("{}\nResults: {}.", tensor_forms(), result_names(description)),
                  [&parent, &description, judging] {
                    require_unused(parent, *parent.get_subcommands().front());
                    return judge_operator(description, *judging);
                  });
  command->alias(description.function);
  add_argument_options(*command, description, judging->given);
  const auto add_files = [&](const char* option, std::vector<std::string>& files, const char* what) {
    return command->add_option(option, files, what)->type_name("[NAME=]FILE")->expected(1)->take_all();
  };
  add_files("--result", judging->results, "A result of the judged device; repeat it for each")->required();
  add_files("--third", judging->third, "A result of a third device; repeat it for each");
  add_rule_options(*command, judging->common);
}

}  // namespace

void add_judge(Program& program) {
  const auto judging = std::make_shared<Judging>();
  CLI::App* const command = add_command(program, "judge", "Judge results of any device against exact goldens",
                                        kExample, [judging] { return judge_sources(*judging); });
  command->add_option("sources", judging->sources, "A dump folder, or a result and its golden")
      ->type_name("FOLDER | RESULT GOLDEN")
      ->expected(0, 2);
  command
      ->add_option("--bound", judging->bound, "Error bounds of the golden, as `openaclnn golden` writes them")
      ->type_name("FILE");
  command->add_option("--third", judging->third, "The dump or the result of a third device")
      ->type_name("FOLDER|FILE");
  add_rule_options(*command, *judging);
  command->add_flag("--list-rules", judging->list_rules, "Print the rules and their sources");
  command->require_subcommand(0, 1);
  for (const Description& description : openaclnn_verify::descriptions())
    add_judge_of(program, *command, description);
}

}  // namespace openaclnn_cli
