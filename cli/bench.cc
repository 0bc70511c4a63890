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

void require_source_tree(const std::string& tree, const char* what) {
  if (!tree.empty()) return;
  throw Failure(fmt::format(
      "{} is part of the sources, not of an installation; run it in a clone of the project", what));
}

int bench(const std::string& name, const std::vector<std::string>& rest) {
  const std::string tree = source_tree();
  require_source_tree(tree, "the benchmark");
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
    require_source_tree(tree, "the demo");
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
      add_command(program, "bench", "Measure the operators against the speed of memory: table, JSON, picture",
                  "Example: openaclnn bench --operator Embedding -- --quick --json out.json --plot out.png\n"
                  "Starts ./dev bench of a source tree, which has all options (./dev bench --help) and is "
                  "needed for it; what\n"
                  "follows -- goes there as it is.",
                  [&program, name, command] { return bench(*name, words_for(program, **command)); });
  (*command)->add_option("--operator", *name, "Only this operator")->type_name("NAME");
  (*command)->prefix_command();
}

void add_demo(Program& program) {
  const auto command = std::make_shared<CLI::App*>(nullptr);
  *command =
      add_command(program, "demo", "Train a small language model with these operators",
                  "Example: openaclnn demo --steps 50 --out demo-out\n"
                  "Starts the program openaclnn-train that lies beside this one, else ./dev demo of a source "
                  "tree.\nAll arguments go there; what follows -- as it is: openaclnn demo -- --help",
                  [&program, command] { return demo(words_for(program, **command)); });
  (*command)->prefix_command();
}

}  // namespace openaclnn_cli
