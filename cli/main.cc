// openaclnn: runs the library's operators and shows its properties, for users who do not want to write a
// program.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <sstream>
#include <system_error>

#include "program.h"
#include "streams.h"
#include "suggest.h"

namespace {

using namespace openaclnn_cli;

constexpr char kPurpose[] =
    "Training operators of CANN's aclnn interface on ordinary CPUs, from a terminal.\n"
    "openaclnn COMMAND --help explains a command.";
constexpr char kExitCodes[] =
    "Exit codes: 0 all is well; 1 something is wrong: a problem was found, a promise is broken, or\n"
    "the work failed, also when stdout cannot be written; 2 bad input: one sentence says what, and\n"
    "nothing was written. `trace` ends with the exit code of the program that it runs. When the reader\n"
    "of stdout goes away, SIGPIPE ends the program.";

// Every error is one message on stderr.
int refuse(const std::string& sentence, int code) {
  complain(sentence);
  return code;
}

// Returns CLI11's error message. An unknown word takes precedence over missing arguments that result from it.
std::string sentence_of(const CLI::ParseError& error, const Program& program) {
  const CLI::App& command = innermost(program.app);
  const std::vector<std::string> unknown = command.remaining();
  return unknown.empty() ? error.what() : unknown_word_text(command, unknown[0]);
}

void add_commands(Program& program) {
  add_doctor(program);
  add_ops(program);
  add_run(program);
  add_check(program);
  add_bench(program);
  add_trace(program);
  add_demo(program);
  add_explain(program);
  add_compat_check(program);
  add_completion(program);
  add_man(program);
}

// Returns the words before -- in reverse order, as CLI11 expects. CLI11 would also parse the words after it.
std::vector<std::string> own_words(int argc, char** argv, Program& program) {
  std::vector<std::string> words(argv + 1, argv + argc);
  const auto mark = std::ranges::find(words, "--");
  if (mark != words.end()) {
    program.rest.assign(mark + 1, words.end());
    words.erase(mark, words.end());
  }
  std::ranges::reverse(words);
  return words;
}

int run(int argc, char** argv) {
  Program program;
  program.app.name("openaclnn");
  program.app.description(kPurpose);
  program.app.footer(kExitCodes);
  program.app.set_version_flag("--version", OPENACLNN_VERSION, "Print the version");
  program.app.require_subcommand(0, 1);
  add_commands(program);
  if (argc == 1) return fmt::print("{}", program.app.help()), kFine;
  try {
    program.app.parse(own_words(argc, argv, program));
  } catch (const CLI::Success& wanted) {  // --help, --version
    std::ostringstream text;
    program.app.exit(wanted, text);
    return fmt::print("{}", text.str()), kFine;
  } catch (const CLI::ParseError& error) {
    return refuse(sentence_of(error, program), kBadInput);
  }
  if (!program.action) return refuse("no command was given; `openaclnn --help` lists them", kBadInput);
  return program.action();
}

}  // namespace

int main(int argc, char** argv) {
  prepare_streams();
  try {
    return finish_output(run(argc, argv));
  } catch (const BadInput& error) {
    return finish_output(refuse(error.what(), kBadInput));
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) != 0) return finish_output(kProblem, error.code().value());  // from a print
    return refuse(error.what(), kProblem);
  } catch (const std::exception& error) {
    return finish_output(refuse(error.what(), kProblem));
  }
}
