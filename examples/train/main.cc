// openaclnn-train: trains a small language model to show that the operators work together, are
// right and are fast.
#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <numbers>

#include "errors.h"
#include "gradient_check.h"
#include "output_folder.h"
#include "report.h"
#include "streams.h"
#include "trainer.h"

extern "C" void openblas_set_num_threads(int count);

namespace train {
namespace {

void print_results(const Options& options, const Corpus& corpus, const Operators& operators,
                   const TrainingResult& result, const OutputFolder& out) {
  const auto row = [](const char* name, double nats) {
    fmt::print("{:<34} {:>6.3f} {:>6.3f}\n", name, nats, nats / std::numbers::ln2);
  };
  fmt::print("\n{}\n", operator_table(operators.records(), result.seconds));
  fmt::print("{} steps of {} bytes in {:.1f} s; the oracle's {:.1f} s are not counted\n\n",
             with_commas(options.steps), with_commas(options.batch), result.seconds,
             operators.oracle_seconds());
  fmt::print("{:<34} {:>6} {:>6}\n", fmt::format("text of {} bytes", with_commas(corpus.bytes())), "nats",
             "bits");
  row("entropy of its bytes", result.curve.unigram_entropy);
  row("entropy given the byte before", result.curve.bigram_entropy);
  row("held-out loss, trained weights", result.held_out_raw);
  row("held-out loss, averaged weights", result.held_out_ema);
  fmt::print("\nwritten: {}, {}\n", out.file("loss.csv"), out.file("loss.svg"));
}

int run(const Options& options) {
  const Precision& precision = precision_named(options.dtype);
  const Corpus corpus(options.text);
  const OutputFolder out(options.out);
  openblas_set_num_threads(1);  // for_row_blocks spreads the work
  // The library reads its environment once, when it is first used.
  if (options.device != "auto") setenv("OPENACLNN_DEVICE", options.device.c_str(), 1);
  const Device device(0);
  const Stream stream;
  const GradientCheck gradients = check_gradients(precision, options.check_every > 0, stream);
  if (!options.quiet)
    fmt::print("gradient check: {} gradients of a small model agree, worst error {:.1e} of the norm\n\n",
               with_commas(gradients.gradients), gradients.worst);
  Operators operators(stream, precision.dtype);
  Trainer trainer(options, precision, corpus, operators);
  const TrainingResult result = trainer.run();
  out.write("loss.csv", curve_csv(result.curve));
  out.write("loss.svg",
            curve_svg(result.curve, "Learning " + std::filesystem::path(options.text).filename().string()));
  print_results(options, corpus, operators, result, out);
  fmt::print("\nwritten by the averaged weights:\n{}\n", printable(trainer.sample(400)));
  return 0;
}

}  // namespace
}  // namespace train

int main(int argc, char** argv) {
  train::prepare_streams();
  int code = 1;
  try {
    const auto options = train::parse_options(argc, argv);
    code = options ? train::run(*options) : 0;
  } catch (const train::InputError& error) {
    train::complain(error.what());
    code = 2;
  } catch (const std::bad_alloc&) {
    train::complain("not enough memory");
  } catch (const std::exception& error) {
    // finish_output() reports a print that failed.
    if (std::ferror(stdout) == 0) train::complain(error.what());
  }
  return train::finish_output(code);
}
