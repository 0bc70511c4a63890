// openaclnn explain: what a status code means, from docs/errors.md.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/codes.h"
#include "pages.h"
#include "program.h"
#include "terminal.h"

namespace openaclnn_cli {

namespace {

struct Explanation {
  int code = 0;
  std::string name, reason, remedy;
};

constexpr char kNotReturned[] = "no function of openaclnn returns this code; CANN's libraries may";
constexpr char kNotReturnedRemedy[] =
    "find out which library returned it: `openaclnn doctor` shows what is loaded";

std::optional<int> number_in(const std::string& text) {
  int code = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, code);
  return error == std::errc() && at == end ? std::optional(code) : std::nullopt;
}

Explanation explain(int code) {
  if (code == 0) return {0, "ACL_SUCCESS", "the call did what it was asked to do", "nothing"};
  Explanation found = {code, openaclnn::code_name(code), kNotReturned, kNotReturnedRemedy};
  for (const auto& row : table_under(page("errors"), "Codes and sentences")) {
    if (row.size() < 4 || row[0] != std::to_string(code)) continue;
    found.reason = plain_text(row[2]);
    found.remedy = plain_text(row[3]);
  }
  for (std::string* text : {&found.reason, &found.remedy}) {
    while (text->ends_with('\n')) text->pop_back();
  }
  return found;
}

// A number or a name, as a caller has it in front of them.
int code_of(const std::string& word) {
  if (word == "ACL_SUCCESS" || word == "ACLNN_SUCCESS") return 0;
  const std::optional<int> number = number_in(word);
  for (const openaclnn::CodeName& known : openaclnn::code_names()) {
    if (number ? known.code == *number : word == known.name) return known.code;
  }
  if (number && *number == 0) return 0;
  throw BadInput(
      fmt::format("'{}' is no status code of the interface; give a number or a name of those that `openaclnn "
                  "explain` lists",
                  word));
}

void print_as_text(const Explanation& e) {
  fmt::print("{} {}\n", toned(Tone::strong, std::to_string(e.code)), toned(Tone::strong, e.name));
  fmt::print("  means:   {}\n  do:      {}\n", e.reason, e.remedy);
}

nlohmann::json as_json(const Explanation& e) {
  return {{"code", e.code}, {"name", e.name}, {"reason", e.reason}, {"remedy", e.remedy}};
}

int list_codes(bool json) {
  nlohmann::json all = nlohmann::json::array();
  Table table({"code", "name", "usual reason"});
  for (const openaclnn::CodeName& known : openaclnn::code_names()) {
    const Explanation e = explain(known.code);
    all.push_back(as_json(e));
    table.add({std::to_string(e.code), e.name, e.reason});
  }
  if (json) {
    fmt::print("{}\n", all.dump(2));
  } else {
    table.print();
  }
  return kFine;
}

struct Options {
  std::string code;
  bool json = false;
};

}  // namespace

void add_explain(Program& program) {
  const auto options = std::make_shared<Options>();
  CLI::App* const command =
      add_command(program, "explain", "Say what a status code means, its usual reasons, and what to do",
                  "Example: openaclnn explain 161002\n"
                  "What it says is docs/errors.md. The sentence that aclGetRecentErrMsg() returned says more "
                  "about one case.",
                  [options] {
                    if (options->code.empty()) return list_codes(options->json);
                    const Explanation found = explain(code_of(options->code));
                    if (options->json) {
                      fmt::print("{}\n", as_json(found).dump(2));
                    } else {
                      print_as_text(found);
                    }
                    return static_cast<int>(kFine);
                  });
  command
      ->add_option("CODE", options->code,
                   "A number such as 507035, or a name; without it all codes are listed")
      ->type_name("");
  add_json_option(*command, options->json);
}

}  // namespace openaclnn_cli
