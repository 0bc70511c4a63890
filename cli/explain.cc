// openaclnn explain: prints the meaning of a status code from docs/errors.md.
#include <fmt/core.h>

#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/codes.h"
#include "base/nearest.h"
#include "pages.h"
#include "program.h"
#include "terminal.h"

namespace openaclnn_cli {

namespace {

struct Explanation {
  int code = 0;
  std::string name, reason, remedy;
};

constexpr char kNotReturned[] = "not returned by openaclnn";
constexpr char kNotReturnedRemedy[] =
    "find the library that returned it; `openaclnn doctor` reports libraries of CANN in LD_LIBRARY_PATH";

std::optional<int> number_in(const std::string& text) {
  int code = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, code);
  return error == std::errc() && at == end ? std::optional(code) : std::nullopt;
}

// Returns the table row of docs/errors.md that starts with the code, as plain text, or an empty one.
std::vector<std::string> row_of(int code, std::string_view heading) {
  for (std::vector<std::string>& row : table_under(page("errors"), heading)) {
    if (row.empty() || row[0] != std::to_string(code)) continue;
    for (std::string& cell : row) {
      cell = plain_text(cell);
      while (cell.ends_with('\n')) cell.pop_back();
    }
    return std::move(row);
  }
  return {};
}

Explanation explain(int code) {
  if (code == 0) return {0, "ACL_SUCCESS", "the call succeeded", "nothing"};
  const std::string name = openaclnn::code_name(code);
  if (const auto row = row_of(code, "Codes and error messages"); row.size() >= 4)
    return {code, name, row[2], row[3]};
  const auto row = row_of(code, "Codes that openaclnn does not return");
  const std::string meaning = row.size() >= 3 ? "; in CANN: " + row[2] : "";
  return {code, name, kNotReturned + meaning, kNotReturnedRemedy};
}

// Explains a number without a name by its range, if the range has only one kind of failure.
std::optional<Explanation> explain_by_range(int code) {
  for (const openaclnn::CodeRange& range : openaclnn::code_ranges()) {
    if (code < range.first || code > range.last) continue;
    return Explanation{code, "without a published name",
                       fmt::format("{}; codes from {} to {} belong to {}", kNotReturned, range.first,
                                   range.last, range.meaning),
                       kNotReturnedRemedy};
  }
  return std::nullopt;
}

// Explains a code, given as a number or a name.
Explanation explain(const std::string& word) {
  if (word == "ACL_SUCCESS" || word == "ACLNN_SUCCESS") return explain(0);
  const std::optional<int> number = number_in(word);
  for (const openaclnn::CodeName& known : openaclnn::code_names()) {
    if (number ? known.code == *number : word == known.name) return explain(known.code);
  }
  if (number && *number == 0) return explain(0);
  if (number) {
    if (const std::optional<Explanation> found = explain_by_range(*number)) return *found;
  }
  std::vector<std::string_view> names;
  for (const openaclnn::CodeName& known : openaclnn::code_names()) names.emplace_back(known.name);
  const std::string nearest = openaclnn::did_you_mean(word, names);
  if (!nearest.empty()) throw BadInput(fmt::format("'{}' isn't a status code{}", shown(word), nearest));
  throw BadInput(fmt::format(
      "'{}' isn't a status code; `openaclnn explain` lists the accepted numbers and names", shown(word)));
}

void print_as_text(const Explanation& e) {
  fmt::print("{} {}\n", toned(Tone::strong, std::to_string(e.code)), toned(Tone::strong, e.name));
  fmt::print("  means:   {}\n  do:      {}\n", e.reason, e.remedy);
}

nlohmann::json as_json(const Explanation& e) {
  return {{"code", e.code}, {"name", e.name}, {"reason", e.reason}, {"remedy", e.remedy}};
}

int list_codes(bool in_json) {
  nlohmann::json all = nlohmann::json::array();
  Table table({"code", "name", "usual reason"});
  for (const openaclnn::CodeName& known : openaclnn::code_names()) {
    const Explanation e = explain(known.code);
    all.push_back(as_json(e));
    table.add({std::to_string(e.code), e.name, e.reason});
  }
  if (in_json) {
    print_json(all);
  } else {
    table.print();
  }
  return kFine;
}

struct ExplainOptions {
  std::string code;
  bool json = false;
};

}  // namespace

void add_explain(Program& program) {
  const auto options = std::make_shared<ExplainOptions>();
  CLI::App* const command =
      add_command(program, "explain", "Print the meaning of a status code, its usual reasons and the remedy",
                  "Example: openaclnn explain 161002\n"
                  "The text comes from docs/errors.md. For one failed call, aclGetRecentErrMsg() returns\n"
                  "a more specific error message.",
                  [options] {
                    if (options->code.empty()) return list_codes(options->json);
                    const Explanation found = explain(options->code);
                    if (options->json) {
                      print_json(as_json(found));
                    } else {
                      print_as_text(found);
                    }
                    return static_cast<int>(kFine);
                  });
  command->add_option("CODE", options->code, "A number such as 507035, or a name; by default, list all codes")
      ->type_name("");
  add_json_option(*command, options->json);
}

}  // namespace openaclnn_cli
