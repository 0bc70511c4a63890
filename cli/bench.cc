// openaclnn bench and demo: start programs that the source tree has scripts for.
#include <fmt/core.h>

#include <filesystem>
#include <memory>

#include "library.h"
#include "process.h"
#include "program.h"
#include "rooms.h"
#include "source_tree.h"

namespace openaclnn_cli {

namespace {

namespace fs = std::filesystem;

void require_source_tree(const std::string& tree, const char* command) {
  if (!tree.empty()) return;
  throw Failure(
      fmt::format("`openaclnn {}` requires the source tree; run it in a clone of the project", command));
}

int bench(const std::string& name, const std::vector<std::string>& rest) {
  const std::string tree = source_tree();
  require_source_tree(tree, "bench");
  std::vector<std::string> words = {tree + "/dev", "bench"};
  if (!name.empty()) words.insert(words.end(), {"--filter", "^" + find_room(name).name + "/"});
  words.insert(words.end(), rest.begin(), rest.end());
  become(words);
}

int demo(const std::vector<std::string>& rest) {
  // The demo is in this program's folder, both installed and in a build.
  std::vector<std::string> words = {program_folder() + "/openaclnn-train"};
  if (!fs::exists(words[0])) {
    const std::string tree = source_tree();
    require_source_tree(tree, "demo");
    words = {tree + "/dev", "demo"};
  }
  words.insert(words.end(), rest.begin(), rest.end());
  become(words);
}

}  // namespace

std::string source_tree() {
  std::error_code error;
  for (fs::path folder : {fs::path(program_folder()), fs::current_path(error)}) {
    for (; folder.has_relative_path(); folder = folder.parent_path()) {
      if (fs::exists(folder / "dev", error) && fs::exists(folder / "bench" / "bench.py", error))
        return folder.string();
    }
  }
  return {};
}

void add_bench(Program& program) {
  const auto name = std::make_shared<std::string>();
  const auto command = std::make_shared<CLI::App*>(nullptr);
  *command =
      add_command(program, "bench", "Measure the speed of the operators relative to memory bandwidth",
                  "Example: openaclnn bench --operator Embedding -- --quick --json out.json --plot out.png\n"
                  "Runs ./dev bench, and therefore requires the source tree. Arguments after -- are passed\n"
                  "to ./dev bench. ./dev bench --help lists all options.",
                  [&program, name, command] { return bench(*name, words_for(program, **command)); });
  (*command)->add_option("--operator", *name, "Measure only this operator")->type_name("NAME");
  (*command)->prefix_command();
}

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
