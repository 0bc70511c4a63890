// Reads the arguments of an operator from options.
#include "arguments.h"

#include <fmt/core.h>

#include <cctype>
#include <charconv>
#include <type_traits>

#include "files/tensor_file.h"
#include "program.h"

namespace openaclnn_cli {

using openaclnn_verify::Description;
using openaclnn_verify::Kind;
using openaclnn_verify::Parameter;
using openaclnn_verify::Role;

std::string option_of(const Parameter& parameter) {
  std::string option = "--";
  for (const char c : parameter.short_name()) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0) option += '-';
    option += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return option;
}

std::string result_name(const Parameter& parameter) { return option_of(parameter).substr(2); }

std::string result_names(const Description& description) {
  std::string names;
  for (const Parameter& parameter : description.parameters) {
    if (parameter.is_result()) names += (names.empty() ? "" : ", ") + result_name(parameter);
  }
  return names;
}

std::string tensor_forms() {
  return fmt::format("A tensor is {}, or integers such as 3,1,4, which become INT64.",
                     openaclnn_files::kTensorFiles);
}

namespace {

const char* value_name(Kind kind) {
  switch (kind) {
    case Kind::tensor: return "FILE";
    case Kind::tensor_list: return "FILE ...";
    case Kind::integers: return "N,N,...";
    case Kind::real: return "NUMBER";
    case Kind::integer: return "N";
    case Kind::flag: return "true|false";
    default: return "TEXT";
  }
}

std::string option_text(const Parameter& parameter) {
  std::string text = parameter.name;
  if (parameter.role == Role::reference) text += ", updated in place";
  if (parameter.is_optional) text += ", optional";
  if (!parameter.fallback.empty()) text += fmt::format(", default {}", parameter.fallback);
  return text;
}

template <class Number>
Number parse(const Parameter& parameter, const std::string& text) {
  Number number = {};
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || at != end) {
    throw BadInput(fmt::format("{} is '{}'; it must be a 64-bit {}", option_of(parameter), text,
                               std::is_integral_v<Number> ? "integer" : "number"));
  }
  return number;
}

int64_t parse_flag(const Parameter& parameter, const std::string& text) {
  if (text == "true" || text == "1") return 1;
  if (text == "false" || text == "0") return 0;
  throw BadInput(fmt::format("{} is '{}'; it must be true or false", option_of(parameter), text));
}

std::vector<int64_t> parse_list(const Parameter& parameter, const std::string& text) {
  std::vector<int64_t> numbers;
  for (size_t begin = 0; begin <= text.size() && !text.empty();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    numbers.push_back(parse<int64_t>(parameter, text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return numbers;
}

// Adds the option to the error message.
LoadedTensor load(const Parameter& parameter, const std::string& word) {
  try {
    return load_tensor(word);
  } catch (const BadInput& error) {
    throw BadInput(fmt::format("{} {}", option_of(parameter), error.what()));
  }
}

void read_argument(const Parameter& parameter, const std::vector<std::string>& words,
                   LoadedArguments& arguments) {
  switch (parameter.kind) {
    case Kind::tensor:
    case Kind::tensor_list:
      for (const std::string& word : words) arguments.add(parameter.name, load(parameter, word));
      break;
    case Kind::integers: arguments.values.integers[parameter.name] = parse_list(parameter, words[0]); break;
    case Kind::integer:
      arguments.values.integers[parameter.name] = {parse<int64_t>(parameter, words[0])};
      break;
    case Kind::flag: arguments.values.integers[parameter.name] = {parse_flag(parameter, words[0])}; break;
    case Kind::real: arguments.values.reals[parameter.name] = parse<double>(parameter, words[0]); break;
    case Kind::text: arguments.values.texts[parameter.name] = words[0]; break;
  }
}

}  // namespace

LoadedArguments read_arguments(const Description& description, const GivenOptions& given) {
  LoadedArguments arguments;
  // Numbers first: they are cheap, and tensors may be large.
  for (const bool numbers : {true, false}) {
    for (const Parameter& parameter : description.parameters) {
      if (parameter.is_tensor() == numbers || parameter.role == Role::output) continue;
      const auto words = given.find(parameter.name);
      if (words != given.end() && !words->second.empty()) {
        read_argument(parameter, words->second, arguments);
      } else if (!parameter.fallback.empty()) {
        read_argument(parameter, {parameter.fallback}, arguments);
      } else if (!parameter.is_optional) {
        throw BadInput(fmt::format("missing option {} of {}", option_of(parameter), description.name()));
      }
    }
  }
  return arguments;
}

void add_argument_options(CLI::App& command, const Description& description, GivenOptions& given) {
  for (const Parameter& parameter : description.parameters) {
    if (parameter.role == Role::output) continue;
    CLI::Option* const option =
        command.add_option(option_of(parameter), given[parameter.name], option_text(parameter));
    option->type_name(value_name(parameter.kind));
    if (parameter.kind != Kind::tensor_list) option->expected(1);
  }
}

}  // namespace openaclnn_cli
