// openaclnn demo: starts the program that trains the small model.
#include <filesystem>
#include <memory>

#include "library.h"
#include "process.h"
#include "program.h"
#include "source_tree.h"

namespace openaclnn_cli {

namespace {

int demo(const std::vector<std::string>& rest) {
  // The demo is in this program's folder, both installed and in a build.
  std::vector<std::string> words = {program_folder() + "/openaclnn-train"};
  if (!std::filesystem::exists(words[0])) {
    words = {required_source_tree("demo") + "/dev", "demo"};
  }
  words.insert(words.end(), rest.begin(), rest.end());
  become(words);
}

}  // namespace

void add_demo(Program& program) {
  const auto command = std::make_shared<CLI::App*>(nullptr);
  *command =
      add_command(program, "demo", "Train a small language model with these operators",
                  "Example: openaclnn demo --steps 50 --out demo-out\n"
                  "Runs openaclnn-train from this program's folder, or ./dev demo of a source tree, with\n"
                  "all arguments. `openaclnn demo -- --help` prints its options.",
                  [&program, command] { return demo(words_for(program, **command)); });
  (*command)->prefix_command();
}

}  // namespace openaclnn_cli
