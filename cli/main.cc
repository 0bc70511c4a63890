// openaclnn: runs the library's operators and shows its properties, for users who do not want to write a
// program.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string_view>
#include <system_error>

#include "program.h"
#include "streams.h"
#include "suggest.h"

namespace {

using namespace openaclnn_cli;

constexpr char kPurpose[] =
    "Runs the training operators of CANN's aclnn interface on CPUs.\n"
    "`openaclnn COMMAND --help` describes a command.";
constexpr char kExitCodes[] =
    "Exit codes:\n"
    "0: success\n"
    "1: failure: a problem or a wrong result was found, the work failed, or a file or stdout cannot be "
    "written\n"
    "2: bad input: the program prints one error message and writes nothing\n"
    "`trace` exits with the exit code of the program that it runs. If the reader of stdout exits,\n"
    "SIGPIPE ends the program.";

// Every error is one message on stderr.
int refuse(const std::string& message, int code) {
  complain(message);
  return code;
}

// Returns an error message based on CLI11's. An unknown word takes precedence over missing arguments that
// result from it.
std::string message_of(const CLI::ParseError& error, const Program& program) {
  const CLI::App& command = innermost(program.app);
  const std::vector<std::string> unknown = command.remaining();
  if (!unknown.empty()) return unknown_word_text(command, unknown[0]);
  const std::string what = error.what(), help = fmt::format("`{} --help`", spoken_name(command));
  if (what == "A subcommand is required")
    return fmt::format("`{}` requires an operator; {} lists the operators", spoken_name(command), help);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    const std::string argument = what.substr(0, what.find(" is required"));
    return fmt::format("`{}` requires the argument {}; {} describes it", spoken_name(command), argument,
                       help);
  }
  const bool lacks_value = dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr &&
                           what.ends_with(" missing") && what.find(": ") != std::string::npos;
  if (lacks_value)
    return fmt::format("{} requires a value; {} describes it", what.substr(0, what.find(": ")), help);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && what.starts_with("--"))
    return fmt::format("{} takes one value; {} describes it", what.substr(0, what.find(": ")), help);
  constexpr std::string_view kMost = ": At Most ", kReceived = " required but received ";
  const size_t most = what.find(kMost), received = what.find(kReceived);
  if (most != std::string::npos && received != std::string::npos) {
    const size_t count = most + kMost.size();
    return fmt::format("`{}` takes at most {} {}, but {} were given; {} describes them", spoken_name(command),
                       what.substr(count, received - count), what.substr(0, most),
                       what.substr(received + kReceived.size()), help);
  }
  return what;
}

void add_commands(Program& program) {
  add_doctor(program);
  add_ops(program);
  add_run(program);
  add_golden(program);
  add_judge(program);
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
  program.app.set_version_flag("--version", OPENACLNN_VERSION, "Print the version and exit");
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
    return refuse(message_of(error, program), kBadInput);
  }
  if (!program.action) return refuse("missing command; `openaclnn --help` lists the commands", kBadInput);
  // Only commands that start another program accept words of it.
  const CLI::App& command = innermost(program.app);
  if (!program.rest.empty() && !command.get_prefix_command()) {
    return refuse(fmt::format("`{}` takes no words after --; put them before it", spoken_name(command)),
                  kBadInput);
  }
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
    return finish_output(refuse(error_message_of(error), kProblem));
  }
}
