// openaclnn run: runs one operator on tensors in files.
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "arguments.h"
#include "base/dtype.h"
#include "base/text.h"
#include "call.h"
#include "new_file.h"
#include "program.h"
#include "terminal.h"

namespace openaclnn_cli {

using openaclnn_verify::Description;
using openaclnn_verify::Kind;
using openaclnn_verify::Parameter;
using openaclnn_verify::Role;

namespace {

struct RunOptions {
  GivenOptions given;
  std::vector<std::string> outputs;  // "FILE" or "NAME=FILE"
  bool json = false;
};

// Splits "NAME=FILE" or "FILE".
std::pair<std::string, std::string> name_and_file(const std::string& word) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos) return {"", word};
  return {word.substr(0, equals), word.substr(equals + 1)};
}

// The later of two results in one file would replace the earlier one.
void require_different_files(const RunOptions& options) {
  for (auto word = options.outputs.begin(); word != options.outputs.end(); ++word) {
    for (auto other = options.outputs.begin(); other != word; ++other) {
      if (is_same_file(name_and_file(*word).second, name_and_file(*other).second))
        throw BadInput(fmt::format(
            "--out {} and --out {} name the same file; --out FILE.safetensors writes all results to one",
            shown(*other), shown(*word)));
    }
  }
}

// Assigns results to files.
std::vector<TensorOutput> plan_outputs(const Description& description, const RunOptions& options,
                                       const LoadedArguments& arguments) {
  std::vector<TensorOutput> outputs;
  for (const std::string& word : options.outputs) {
    const auto [wanted, file] = name_and_file(word);
    TensorOutput output = {file, {}};
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
  require_different_files(options);
  LoadedArguments arguments = read_arguments(description, options.given);
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

void add_operator(Program& program, CLI::App& parent, const Description& description) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App* const command = add_command(
      program, parent, description.name(), fmt::format("Run {} on tensors from files", description.name()),
      fmt::format("{}\nResults: {}. `openaclnn ops {}` prints the reference page.", tensor_forms(),
                  result_names(description), description.name()),
      [&description, options] { return run(description, *options); });
  command->alias(description.function);
  command->ignore_case();
  add_argument_options(*command, description, options->given);
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
      program, "run", "Run one operator on tensors from files",
      std::string(
          "Example: openaclnn run Embedding --weight model.safetensors:wte.weight --indices ids.npy --out "
          "rows.npy\n") +
          tensor_forms() +
          "\nBF16 in .npy files has dtype V2, as in files from ml_dtypes.\n"
          "If the call fails, no file is written. Existing files are replaced only by complete results.\n"
          "The exit code is 1 if the operator finds bad data, such as an index out of range.",
      [] { return static_cast<int>(kFine); });
  command->require_subcommand(1);
  for (const Description& description : openaclnn_verify::descriptions())
    add_operator(program, *command, description);
}

}  // namespace openaclnn_cli
