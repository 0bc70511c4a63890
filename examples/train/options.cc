// Option names, ranges and help texts.
#include "options.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "errors.h"

namespace train {
namespace {

// A range that the help text does not repeat in brackets. Every integer option has one, because
// CLI11 silently converts numbers beyond int64 to the largest int64.
CLI::Validator between(int64_t low, int64_t high) { return CLI::Range(low, high).description(""); }

}  // namespace

std::optional<Options> parse_options(int argc, char** argv) {
  Options options;
  options.text = OPENACLNN_TRAIN_TEXT;
  CLI::App app(
      "Trains a byte-level language model on a text. Its embedding, the compression of keys and values, the\n"
      "bias gradients of its experts and the optimizer run through the aclnn C interface;\n"
      "some steps are recomputed in double and compared with the promised error bounds.\n"
      "Exit code: 0 done, 1 a promise broken or the run failed, 2 bad input.",
      "openaclnn-train");
  app.add_option("--text", options.text,
                 "Text to learn, any file of at least 4096 bytes; default: Pride and Prejudice")
      ->type_name("FILE");
  app.add_option("--steps", options.steps, "Optimizer steps")
      ->check(between(1, 1'000'000'000))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--dtype", options.dtype,
                 "Storage type of all tensors given to the operators: f32, bf16 or fp16")
      ->type_name("TYPE")
      ->capture_default_str();
  app.add_option("--device", options.device,
                 "Where the operators run: auto (a GPU if one is available), cpu or cuda (experimental)")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}).description(""))
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--out", options.out, "Folder for loss.csv and loss.svg, made when missing")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Start of all random numbers; the same seed gives the same loss.csv")
      ->check(between(0, 1'000'000'000))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--batch", options.batch, "Text positions per step")
      ->check(between(1, 65'536))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--check-every", options.check_every,
                 "Compare the operators with the oracle every N-th step and at the first; 0: never")
      ->check(between(0, 1'000'000'000))
      ->type_name("N")
      ->capture_default_str();
  app.add_flag("--quiet", options.quiet, "Print nothing but the results at the end");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    std::string sentence = error.what();
    std::replace(sentence.begin(), sentence.end(), '\n', ' ');
    throw InputError(sentence + " (--help lists the options)");
  }
  return options;
}

}  // namespace train
