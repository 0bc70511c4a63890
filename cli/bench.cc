// openaclnn bench: starts the benchmark of the source tree.
#include <fmt/core.h>

#include <memory>

#include "process.h"
#include "program.h"
#include "rooms.h"
#include "source_tree.h"

namespace openaclnn_cli {

namespace {

int bench(const std::string& name, const std::vector<std::string>& rest) {
  std::vector<std::string> words = {required_source_tree("bench") + "/dev", "bench"};
  if (!name.empty()) words.insert(words.end(), {"--filter", "^" + find_room(name).name + "/"});
  words.insert(words.end(), rest.begin(), rest.end());
  become(words);
}

}  // namespace

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

}  // namespace openaclnn_cli
