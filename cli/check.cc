// openaclnn check: compares operators with their formulas in extended precision, on named and random cases or
// on dumps.
#include <fmt/core.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "program.h"
#include "replay.h"
#include "rooms.h"
#include "terminal.h"
#include "verify/case.h"
#include "verify/number.h"
#include "verify/room_cases.h"

namespace openaclnn_cli {

namespace {

using nlohmann::json;
using openaclnn_verify::Case;
using openaclnn_verify::Judge;
using openaclnn_verify::OutputRecord;

struct CheckOptions {
  std::string name, replay;
  int64_t cases = 100, seed = 1;
  bool json = false;
};

// Returns the named cases of the room, including sizes around the kernels' blocks, then random ones.
std::vector<Case> cases_of(const Room& room, const CheckOptions& options) {
  std::vector<Case> cases;
  for (Case& c : openaclnn_verify::all_cases()) {
    if (c.operator_name() == room.name) cases.push_back(std::move(c));
  }
  openaclnn_verify::Random random(static_cast<uint64_t>(options.seed));
  openaclnn_verify::RandomDraw draw(random);
  for (const openaclnn_verify::RandomCases& kind : openaclnn_verify::kRandomCases) {
    if (room.name != kind.operator_name) continue;
    for (int64_t n = 0; n < options.cases; ++n) {
      cases.push_back(kind.make(draw, 2000));
      cases.back().name += fmt::format(" (random case {} of seed {})", n, options.seed);
    }
  }
  return cases;
}

// Adds an error message to `failures` if the call itself fails.
void run_and_judge(const Case& c, Judge& judge, std::vector<std::string>& failures) {
  const std::vector<openaclnn_verify::HostTensor> tensors = openaclnn_verify::make_tensors(c);
  const std::vector<openaclnn_verify::HostTensor> before = openaclnn_verify::before_call(c, tensors);
  const openaclnn_verify::Outcome outcome = openaclnn_verify::run_case(c, tensors);
  if (outcome.ok()) {
    openaclnn_verify::judge_case(c, before, tensors, judge);
  } else {
    failures.push_back(fmt::format("{}: {}", c.name, outcome.text()));
  }
}

json as_json(const Judge& judge) {
  json outputs = json::array();
  judge.for_each([&](const OutputRecord& record) {
    outputs.push_back({{"output", record.name()},
                       {"dtype", openaclnn_verify::dtype_name(record.dtype())},
                       {"elements", record.elements()},
                       {"notCovered", record.skipped()},
                       {"worstUlps", record.worst_ulps()},
                       {"worstAt", record.worst_place()},
                       {"shareOfBound", record.worst()},
                       {"wrong", record.failures()}});
  });
  return outputs;
}

// The error in ulps is only in the JSON: where terms cancel, a result near zero has thousands of its own ulps.
void print_table(const Judge& judge) {
  Table table({"output", "dtype", "elements", "largest error", "verdict", "at"});
  judge.for_each([&](const OutputRecord& record) {
    const std::string verdict =
        record.failures() == 0 ? "ok" : fmt::format("WRONG: {} elements", record.failures());
    table.add({record.name(), openaclnn_verify::dtype_name(record.dtype()), std::to_string(record.elements()),
               fmt::format("{:.1f} % of bound", 100 * record.worst()), verdict, record.worst_place()});
  });
  table.print();
}

// `done` has one entry: the number of cases, or what became of each call.
int report(const Judge& judge, const std::vector<std::string>& failures, const json& done, bool as_text) {
  const bool is_ok = judge.ok() && failures.empty();
  if (!as_text) {
    json whole = {{"outputs", as_json(judge)}, {"failures", failures}, {"ok", is_ok}};
    whole.update(done);
    print_json(whole);
    return is_ok ? kFine : kProblem;
  }
  print_table(judge);
  fmt::print("{}", toned(Tone::bad, printable_lines(judge.messages())));
  for (const std::string& failure : failures) fmt::print("{}\n", toned(Tone::bad, printable(failure)));
  fmt::print(
      "The bound is |result - exact| <= ulp/2 + c*2^-24*S, see docs/numerics.md. Outputs with 0.0 % are "
      "exact "
      "or have prescribed bits.\n");
  fmt::print("{}\n", !judge.ok() ? toned(Tone::bad, "some results are outside the bound")
                     : !failures.empty()
                         ? toned(Tone::bad, fmt::format("calls with a problem: {}", failures.size()))
                         : toned(Tone::good, "all results are within the bound"));
  return is_ok ? kFine : kProblem;
}

int check_cases(const CheckOptions& options) {
  std::vector<Case> cases;
  for (const Room& room : rooms()) {
    if (!options.name.empty() && &room != &find_room(options.name)) continue;
    for (Case& c : cases_of(room, options)) cases.push_back(std::move(c));
  }
  Judge judge;
  std::vector<std::string> failures;
  {
    Progress progress(static_cast<int64_t>(cases.size()));
    for (const Case& c : cases) {
      progress.step(c.name);
      run_and_judge(c, judge, failures);
    }
  }
  return report(judge, failures, {{"cases", cases.size()}}, !options.json);
}

// Replays a dump. One of several that is malformed or too large doesn't end the run.
Replay replay_or_problem(const std::string& folder, bool is_only_one, Judge& judge) {
  try {
    return replay(folder, judge);
  } catch (const std::exception& error) {
    if (is_only_one) throw;
    Replay failed;
    failed.problem = error_message_of(error);
    const std::string folder_first = folder + ": ";  // report() writes it again
    if (failed.problem.starts_with(folder_first)) failed.problem.erase(0, folder_first.size());
    return failed;
  }
}

int check_dumps(const CheckOptions& options) {
  Judge judge;
  std::vector<std::string> failures;
  json calls = json::array();
  const std::vector<std::string> folders = dump_folders(options.replay);
  for (const std::string& folder : folders) {
    const Replay done = replay_or_problem(folder, folders.size() == 1, judge);
    calls.push_back({{"folder", folder},
                     {"operator", done.operator_name},
                     {"reason", done.reason},
                     {"code", done.result.code},
                     {"message", done.problem}});
    if (!options.json && !done.operator_name.empty())
      fmt::print("{}: {}; reason of the dump: {}\n", printable(folder), done.operator_name, done.reason);
    if (!done.problem.empty()) failures.push_back(fmt::format("{}: {}", folder, done.problem));
  }
  return report(judge, failures, {{"calls", calls}}, !options.json);
}

int check(const CheckOptions& options, const CLI::App& command) {
  if (!options.replay.empty() && !options.name.empty())
    throw BadInput(fmt::format("--replay runs every call of the dumps; leave out '{}'", options.name));
  for (const char* const option : {"--cases", "--seed"}) {
    if (!options.replay.empty() && command.get_option(option)->count() > 0)
      throw BadInput(fmt::format("{} has no effect with --replay, which runs the calls of dumps", option));
  }
  // The cases own their memory, which strict mode would reject, and must report faults.
  setenv("OPENACLNN_CHECK", "report", 1);
  return options.replay.empty() ? check_cases(options) : check_dumps(options);
}

}  // namespace

void add_check(Program& program) {
  const auto options = std::make_shared<CheckOptions>();
  CLI::App* const command = add_command(
      program, "check", "Compare the operators with their formulas in extended precision",
      "Examples: openaclnn check Embedding --cases 1000\n"
      "          OPENACLNN_DUMP=dumps ./train; openaclnn check --replay dumps\n"
      "Prints the largest error of each output as a share of the error bound, its position and the verdict.\n"
      "With OPENACLNN_DUMP=FOLDER, a program saves the arguments of its failed calls. With\n"
      "FOLDER:NAME,... or FOLDER:all it also saves every call of these operators. It saves at most\n"
      "100 calls. --replay runs the saved calls again.\n"
      "The exit code is 1 if a result is outside its bound or a call fails.",
      [&program, options] { return check(*options, *program.app.get_subcommand("check")); });
  command->add_option("NAME", options->name, "The operator; by default all")->type_name("");
  command
      ->add_option("--cases", options->cases,
                   "Number of random cases of each operator, in addition to the named cases")
      ->check(integer_up_to(1'000'000))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Seed of the random cases")
      ->check(integer_up_to(1'000'000'000))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--replay", options->replay, "Run the calls of a dump, or of a folder of dumps")
      ->type_name("FOLDER");
  add_json_option(*command, options->json);
}

}  // namespace openaclnn_cli
