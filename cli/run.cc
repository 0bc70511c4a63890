// openaclnn run: runs one operator on tensors in files.
#include <fmt/core.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/dtype.h"
#include "base/text.h"
#include "call.h"
#include "program.h"
#include "terminal.h"

namespace openaclnn_cli {

using openaclnn_verify::Description;
using openaclnn_verify::Kind;
using openaclnn_verify::Parameter;
using openaclnn_verify::Role;

namespace {

// Returns the option of a parameter, without its role: "--weight-decay" for weightDecay, "--var" for varRef.
std::string option_of(const Parameter& parameter) {
  std::string word = parameter.name;
  for (const std::string_view ending : {"Optional", "Optional", "Refs", "Ref", "Out"}) {
    // vRefs of the list operator becomes --v, like vRef of the single one.
    if (word.size() > ending.size() && word.ends_with(ending)) word.erase(word.size() - ending.size());
  }
  std::string option = "--";
  for (const char c : word) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0) option += '-';
    option += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return option;
}

// The command line options as text, because CLI11 would truncate large numbers.
struct RunOptions {
  std::map<std::string, std::vector<std::string>> given;  // by parameter name
  std::vector<std::string> outputs;                       // "FILE" or "NAME=FILE"
  bool json = false;
};

template <class Number>
Number parse(const Parameter& parameter, const std::string& text) {
  Number number = {};
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || at != end) {
    throw BadInput(fmt::format("{} is '{}'; it must be a 64-bit {}", option_of(parameter), text,
                               std::is_integral_v<Number> ? "integer" : "number"));
  }
  return number;
}

int64_t parse_flag(const Parameter& parameter, const std::string& text) {
  if (text == "true" || text == "1") return 1;
  if (text == "false" || text == "0") return 0;
  throw BadInput(fmt::format("{} is '{}'; it must be true or false", option_of(parameter), text));
}

std::vector<int64_t> parse_list(const Parameter& parameter, const std::string& text) {
  std::vector<int64_t> numbers;
  for (size_t begin = 0; begin <= text.size() && !text.empty();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    numbers.push_back(parse<int64_t>(parameter, text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return numbers;
}

// Adds the option to the error message.
LoadedTensor load(const Parameter& parameter, const std::string& word) {
  try {
    return load_tensor(word);
  } catch (const BadInput& error) {
    throw BadInput(fmt::format("{} {}", option_of(parameter), error.what()));
  }
}

void read_argument(const Parameter& parameter, const std::vector<std::string>& words,
                   LoadedArguments& arguments) {
  switch (parameter.kind) {
    case Kind::tensor:
    case Kind::tensor_list:
      for (const std::string& word : words) arguments.add(parameter.name, load(parameter, word));
      break;
    case Kind::integers: arguments.values.integers[parameter.name] = parse_list(parameter, words[0]); break;
    case Kind::integer:
      arguments.values.integers[parameter.name] = {parse<int64_t>(parameter, words[0])};
      break;
    case Kind::flag: arguments.values.integers[parameter.name] = {parse_flag(parameter, words[0])}; break;
    case Kind::real: arguments.values.reals[parameter.name] = parse<double>(parameter, words[0]); break;
    case Kind::text: arguments.values.texts[parameter.name] = words[0]; break;
  }
}

LoadedArguments read_arguments(const Description& description, const RunOptions& options) {
  LoadedArguments arguments;
  // Numbers first: they are cheap, and tensors may be large.
  for (const bool numbers : {true, false}) {
    for (const Parameter& parameter : description.parameters) {
      if (parameter.is_tensor() == numbers || parameter.role == Role::output) continue;
      const auto given = options.given.find(parameter.name);
      if (given != options.given.end() && !given->second.empty()) {
        read_argument(parameter, given->second, arguments);
      } else if (!parameter.fallback.empty()) {
        read_argument(parameter, {parameter.fallback}, arguments);
      } else if (!parameter.is_optional) {
        throw BadInput(fmt::format("missing option {} of {}", option_of(parameter), description.name()));
      }
    }
  }
  return arguments;
}

// Returns the name of a result in files and on the command line.
std::string result_name(const Parameter& parameter) { return option_of(parameter).substr(2); }

// Assigns results to files.
std::vector<TensorOutput> plan_outputs(const Description& description, const RunOptions& options,
                                       const LoadedArguments& arguments) {
  std::vector<TensorOutput> outputs;
  for (const std::string& word : options.outputs) {
    const size_t equals = word.find('=');
    const std::string wanted = equals == std::string::npos ? "" : word.substr(0, equals);
    TensorOutput output = {equals == std::string::npos ? word : word.substr(equals + 1), {}};
    std::string names;
    for (const Parameter& parameter : description.parameters) {
      if (!parameter.is_result() || !arguments.has(parameter.name)) continue;
      const std::string name = result_name(parameter);
      names += (names.empty() ? "" : ", ") + name;
      if (!wanted.empty() && wanted != name) continue;
      const std::vector<LoadedTensor>& tensors = arguments.tensors.at(parameter.name);
      for (size_t n = 0; n < tensors.size(); ++n) {
        output.tensors.push_back(tensors[n]);
        output.tensors.back().header.name =
            parameter.kind == Kind::tensor_list ? fmt::format("{}.{}", name, n) : name;
      }
    }
    if (output.tensors.empty())
      throw BadInput(fmt::format("--out {}: unknown result '{}'; the results are {}", word, wanted, names));
    require_writable(output);
    outputs.push_back(std::move(output));
  }
  return outputs;
}

// Throws BadInput for updated tensors in column-major files, because results are written in row-major order.
void require_row_major(const Description& description, const LoadedArguments& arguments) {
  for (const Parameter& parameter : description.parameters) {
    if (parameter.role != Role::reference || !arguments.has(parameter.name)) continue;
    for (const LoadedTensor& tensor : arguments.tensors.at(parameter.name)) {
      if (tensor.header.is_column_major && tensor.header.dims.size() > 1) {
        throw BadInput(
            fmt::format("{} is updated in place, but its file is in Fortran order; save it in C order",
                        option_of(parameter)));
      }
    }
  }
}

void print_results(const Description& description, const RunOptions& options,
                   const LoadedArguments& arguments, const CallResult& result) {
  nlohmann::json results = nlohmann::json::array();
  Table table({"result", "dtype", "shape"});
  for (const Parameter& parameter : description.parameters) {
    if (!parameter.is_result() || !arguments.has(parameter.name)) continue;
    for (const LoadedTensor& tensor : arguments.tensors.at(parameter.name)) {
      const std::string dtype = openaclnn::dtype_name(tensor.header.dtype);
      results.push_back({{"name", result_name(parameter)}, {"dtype", dtype}, {"shape", tensor.header.dims}});
      table.add({result_name(parameter), dtype, openaclnn::shape_text(tensor.header.dims)});
    }
  }
  if (options.json) {
    const nlohmann::json report = {{"operator", description.name()},
                                   {"seconds", result.seconds},
                                   {"workspaceBytes", result.workspace_bytes},
                                   {"results", results},
                                   {"files", options.outputs}};
    print_json(report);
    return;
  }
  table.print();
  fmt::print("{} took {} with a workspace of {} bytes{}\n", description.name(), seconds_text(result.seconds),
             result.workspace_bytes, options.outputs.empty() ? "; --out FILE saves the results" : "");
}

int run(const Description& description, const RunOptions& options) {
  LoadedArguments arguments = read_arguments(description, options);
  require_row_major(description, arguments);
  const CallResult result = call_operator(description, arguments);
  if (result.code != 0) {
    if (result.is_rejected) throw BadInput(result.sentence);
    throw Failure(result.sentence);
  }
  save_tensors(plan_outputs(description, options, arguments));
  print_results(description, options, arguments, result);
  return kFine;
}

const char* value_name(Kind kind) {
  switch (kind) {
    case Kind::tensor: return "FILE";
    case Kind::tensor_list: return "FILE ...";
    case Kind::integers: return "N,N,...";
    case Kind::real: return "NUMBER";
    case Kind::integer: return "N";
    case Kind::flag: return "true|false";
    default: return "TEXT";
  }
}

std::string option_text(const Parameter& parameter) {
  std::string text = parameter.name;
  if (parameter.role == Role::reference) text += ", updated in place";
  if (parameter.is_optional) text += ", optional";
  if (!parameter.fallback.empty()) text += fmt::format(", default {}", parameter.fallback);
  return text;
}

void add_operator(Program& program, CLI::App& parent, const Description& description) {
  const auto options = std::make_shared<RunOptions>();
  std::string results;
  for (const Parameter& parameter : description.parameters) {
    if (parameter.is_result()) results += (results.empty() ? "" : ", ") + result_name(parameter);
  }
  CLI::App* const command = add_command(
      program, parent, description.name(), fmt::format("Run {} on tensors from files", description.name()),
      fmt::format("Results: {}. `openaclnn ops {}` prints the reference page.", results, description.name()),
      [&description, options] { return run(description, *options); });
  command->alias("aclnn" + description.name());
  for (const Parameter& parameter : description.parameters) {
    if (parameter.role == Role::output) continue;
    CLI::Option* const option =
        command->add_option(option_of(parameter), options->given[parameter.name], option_text(parameter));
    option->type_name(value_name(parameter.kind));
    if (parameter.kind != Kind::tensor_list) option->expected(1);
  }
  command
      ->add_option("--out", options->outputs,
                   "Write all results to FILE, or one result with NAME=FILE; may be repeated")
      ->type_name("[NAME=]FILE")
      ->expected(1)
      ->take_all();
  add_json_option(*command, options->json);
}

}  // namespace

void add_run(Program& program) {
  CLI::App* const command = add_command(
      program, "run", "Run one operator on tensors from .npy and .safetensors files",
      "Example: openaclnn run Embedding --weight model.safetensors:wte.weight --indices ids.npy --out "
      "rows.npy\n"
      "A tensor is FILE.npy, FILE.safetensors:NAME, or integers such as 3,1,4, which become INT64.\n"
      "BF16 in .npy files has dtype V2, as in files from ml_dtypes.\n"
      "If the call fails, no file is written. Existing files are replaced only by complete results.\n"
      "The exit code is 1 if the operator finds bad data, such as an index out of range.",
      [] { return static_cast<int>(kFine); });
  command->require_subcommand(1);
  for (const Description& description : openaclnn_verify::descriptions())
    add_operator(program, *command, description);
}

}  // namespace openaclnn_cli
