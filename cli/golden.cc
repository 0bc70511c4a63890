// openaclnn golden: exact results of one operator on tensors in files, their error bounds, and the library's own results.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "arguments.h"
#include "base/dtype.h"
#include "base/text.h"
#include "host_call.h"
#include "judge/rules.h"
#include "program.h"
#include "terminal.h"
#include "verify/number.h"

namespace openaclnn_cli {

using openaclnn_verify::Array;
using openaclnn_verify::Description;
using openaclnn_verify::Golden;
using openaclnn_verify::GoldenOutput;
using openaclnn_verify::Kind;

namespace {

struct GoldenOptions {
  GivenOptions given;
  std::string out;
  int64_t threads = 0;
  bool json = false;
};

// One output: its golden, and how close this library's result is.
struct GoldenSummary {
  std::string name;  // "var", or "var.3" in a list
  const GoldenOutput* golden = nullptr;
  Array ours;
  int64_t covered = 0;  // elements with a bound
  double largest_exact = 0, largest_bound = 0;
  double largest_share = 0;  // of the allowed error
};

void measure(GoldenSummary& summary) {
  const GoldenOutput& golden = *summary.golden;
  const bool is_float = openaclnn_verify::float_format(golden.dtype) != nullptr;
  const double largest = is_float ? openaclnn_verify::largest_finite(golden.dtype) : 0;
  for (size_t i = 0; i < golden.exact.size(); ++i) {
    const double exact = golden.exact[i], bound = golden.bound[i];
    const bool is_finite = std::isfinite(exact), is_covered = is_finite && !std::isnan(bound);
    if (is_finite) summary.largest_exact = std::max(summary.largest_exact, std::fabs(exact));
    if (is_covered) summary.largest_bound = std::max(summary.largest_bound, bound);
    summary.covered += is_covered ? 1 : 0;
    if (is_finite && !is_covered) continue;
    const double ours = summary.ours.get(static_cast<int64_t>(i));
    const double share = is_float
                             ? openaclnn_judge::share_of_allowed(golden.dtype, largest, ours, exact, bound)
                         : ours == exact ? 0
                                         : std::numeric_limits<double>::infinity();
    summary.largest_share = std::max(summary.largest_share, share);
  }
}

std::vector<GoldenSummary> summaries_of(const Description& description, const Golden& golden,
                                        const openaclnn_judge::OurResults& ours) {
  std::vector<GoldenSummary> summaries;
  for (const GoldenOutput& output : golden.outputs) {
    GoldenSummary& made = summaries.emplace_back();
    const openaclnn_verify::Parameter& parameter = *description.find(output.parameter);
    made.name = result_name(parameter);
    if (parameter.kind == Kind::tensor_list) made.name += fmt::format(".{}", output.list_index);
    made.golden = &output;
    made.ours = ours.results.at(output.parameter).at(output.list_index);
    measure(made);
  }
  return summaries;
}

LoadedTensor saved_tensor(const std::string& name, aclDataType dtype, const std::vector<int64_t>& dims,
                          const void* elements) {
  LoadedTensor tensor = make_tensor(dtype, dims);
  tensor.header.name = name;
  tensor.memory->put(elements, tensor.header.bytes);
  return tensor;
}

// Writes a .safetensors file, or a folder with one .npy file for each tensor. Returns the names of the files.
std::vector<std::string> save_golden(const std::vector<GoldenSummary>& summaries, const std::string& out) {
  std::vector<LoadedTensor> tensors;
  for (const GoldenSummary& summary : summaries) {
    const GoldenOutput& golden = *summary.golden;
    if (golden.exact.size() == static_cast<size_t>(summary.ours.numel())) {
      tensors.push_back(saved_tensor(summary.name + ".exact", ACL_DOUBLE, golden.dims, golden.exact.data()));
      tensors.push_back(saved_tensor(summary.name + ".bound", ACL_DOUBLE, golden.dims, golden.bound.data()));
    }
    tensors.push_back(
        saved_tensor(summary.name + ".ours", golden.dtype, golden.dims, summary.ours.data.get()));
  }
  std::vector<TensorOutput> outputs;
  if (out.ends_with(".safetensors")) {
    outputs.push_back({out, std::move(tensors)});
  } else {
    std::error_code error;
    std::filesystem::create_directories(out, error);
    if (error) throw Failure(fmt::format("{}: {}", out, error.message()));
    for (LoadedTensor& tensor : tensors)
      outputs.push_back({fmt::format("{}/{}.npy", out, tensor.header.name), {tensor}});
  }
  std::vector<std::string> files;
  for (const TensorOutput& output : outputs) {
    require_writable(output);
    files.push_back(output.path);
  }
  save_tensors(outputs);
  return files;
}

void print_golden(const Description& description, const std::vector<GoldenSummary>& summaries,
                  const std::string& fault, const std::vector<std::string>& files, double seconds,
                  bool as_json) {
  nlohmann::json outputs = nlohmann::json::array();
  Table table({"output", "dtype", "shape", "largest |exact|", "largest bound", "our largest error"});
  for (const GoldenSummary& s : summaries) {
    const std::string dtype = openaclnn::dtype_name(s.golden->dtype);
    outputs.push_back({{"name", s.name},
                       {"dtype", dtype},
                       {"shape", s.golden->dims},
                       {"covered", s.covered},
                       {"largestExact", s.largest_exact},
                       {"largestBound", s.largest_bound},
                       // JSON has no infinity
                       {"ourLargestShare", std::isinf(s.largest_share) ? nlohmann::json("inf")
                                                                       : nlohmann::json(s.largest_share)}});
    table.add({s.name, dtype, openaclnn::shape_text(s.golden->dims), fmt::format("{:.6g}", s.largest_exact),
               fmt::format("{:.3g}", s.largest_bound),
               fmt::format("{:.1f} % of allowed", 100 * s.largest_share)});
  }
  if (as_json) {
    print_json({{"operator", description.name()},
                {"outputs", outputs},
                {"fault", fault},
                {"files", files},
                {"seconds", seconds}});
    return;
  }
  table.print();
  if (!fault.empty()) fmt::print("{}\n", toned(Tone::bad, printable(fault)));
  if (files.empty()) fmt::print("--out FOLDER saves the exact results, the bounds and our results\n");
}

// Returns whether the text is the name of a file with another format. A folder of that name would surprise.
bool looks_like_other_file(const std::string& out) {
  constexpr std::array kExtensions = {".npy", ".npz", ".pt", ".pth", ".bin", ".gz", ".xz", ".zst", ".zip"};
  const std::string extension = std::filesystem::path(out).extension().string();
  return std::ranges::count(kExtensions, extension) > 0 && !std::filesystem::is_directory(out);
}

int golden(const Description& description, const GoldenOptions& options) {
  if (looks_like_other_file(options.out)) {
    throw BadInput(
        fmt::format("--out is '{}'; it must be a folder, which gets several .npy files, or a file "
                    "whose name ends with .safetensors",
                    options.out));
  }
  const openaclnn_judge::Call call = call_of(description, read_arguments(description, options.given));
  try {
    const auto start = std::chrono::steady_clock::now();
    const Golden exact = openaclnn_judge::golden_of(call, static_cast<int>(options.threads));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const openaclnn_judge::OurResults ours = openaclnn_judge::run_here(call);
    const std::vector<GoldenSummary> summaries = summaries_of(description, exact, ours);
    const std::vector<std::string> files =
        options.out.empty() ? std::vector<std::string>() : save_golden(summaries, options.out);
    print_golden(description, summaries, ours.fault, files, seconds, options.json);
    bool is_fine = ours.fault.empty();
    for (const GoldenSummary& summary : summaries) is_fine = is_fine && summary.largest_share <= 1;
    return is_fine ? kFine : kProblem;
  } catch (const std::invalid_argument& error) {
    throw BadInput(error.what());
  }
}

void add_golden_of(Program& program, CLI::App& parent, const Description& description) {
  const auto options = std::make_shared<GoldenOptions>();
  CLI::App* const command = add_command(
      program, parent, description.name(), fmt::format("Compute the exact results of {}", description.name()),
      fmt::format("{}\nResults: {}.", tensor_forms(), result_names(description)),
      [&description, options] { return golden(description, *options); });
  command->alias(description.function);
  command->ignore_case();
  add_argument_options(*command, description, options->given);
  command
      ->add_option("--out", options->out,
                   "Write the results to this folder as .npy files, or to one .safetensors file")
      ->type_name("FOLDER|FILE.safetensors");
  command->add_option("--threads", options->threads, "Number of threads; 0: one for each CPU")
      ->check(integer_up_to(1024))
      ->type_name("N")
      ->capture_default_str();
  add_json_option(*command, options->json);
}

}  // namespace

void add_golden(Program& program) {
  CLI::App* const command = add_command(
      program, "golden", "Compute the exact results of an operator and their error bounds",
      "Example: openaclnn golden GroupedBiasAddGrad --grad-y grad.npy --group-idx 3,7 --out golden\n"
      "The options of an operator are those of `openaclnn run`. For each result, --out writes\n"
      "NAME.exact (FLOAT64), NAME.bound (FLOAT64) and NAME.ours (the result of this library).\n"
      "A correct result is within ulp/2 + bound of exact. The bound is NaN if no guarantee covers the "
      "element.\n"
      "The exit code is 1 if the operator finds bad data, such as an index out of range.",
      [] { return static_cast<int>(kFine); });
  command->require_subcommand(1);
  for (const Description& description : openaclnn_verify::descriptions())
    add_golden_of(program, *command, description);
}

}  // namespace openaclnn_cli
