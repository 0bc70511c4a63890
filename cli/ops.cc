// openaclnn ops: lists the operators, their arguments and their reference pages.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "pages.h"
#include "program.h"
#include "rooms.h"
#include "terminal.h"
#include "verify/number.h"
#include "verify/room_descriptions.h"

namespace openaclnn_cli {

namespace {

using nlohmann::json;

// Every operator has kernels for both: a library or plugin without one would not link.
const std::vector<std::string> kDevices = {"CPU", "CUDA"};

using openaclnn_verify::Description;
using openaclnn_verify::Kind;
using openaclnn_verify::Parameter;
using openaclnn_verify::Role;

std::vector<const Description*> functions_of(const Room& room) {
  std::vector<const Description*> found;
  for (const Description& description : openaclnn_verify::descriptions()) {
    if (description.room == room.folder) found.push_back(&description);
  }
  return found;
}

std::vector<std::string> names_of(const std::vector<aclDataType>& dtypes) {
  std::vector<std::string> names;
  for (const aclDataType dtype : dtypes) names.emplace_back(openaclnn_verify::dtype_name(dtype));
  return names;
}

std::string words(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& word : list) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// A row of the page's table of arguments.
struct Argument {
  std::string name, types, shape, constraint;
};

std::vector<Argument> arguments_of(const Room& room) {
  std::vector<std::vector<std::string>> rows = table_under(page(room.folder), "Arguments");
  if (rows.empty()) return {};
  // Some pages list the shape first.
  const bool shape_first = rows[0].size() > 1 && rows[0][1].starts_with("Shape");
  std::vector<Argument> arguments;
  for (size_t k = 1; k < rows.size(); ++k) {
    for (std::string& cell : rows[k]) {
      cell = plain_text(cell);
      cell.erase(cell.find_last_not_of('\n') + 1);
    }
    rows[k].resize(std::max<size_t>(rows[k].size(), 4));
    const std::string &types = rows[k][shape_first ? 2 : 1], &shape = rows[k][shape_first ? 1 : 2];
    arguments.push_back({rows[k][0], types, shape, rows[k][3]});
  }
  return arguments;
}

json as_json(const Description& function) {
  constexpr const char* kKinds[] = {"tensor", "tensor list", "int array", "double",
                                    "int64",  "bool",        "string"};
  constexpr const char* kRoles[] = {"input", "output", "in place"};
  json parameters = json::array();
  for (const Parameter& parameter : function.parameters) {
    json made = {{"name", parameter.name},
                 {"kind", kKinds[static_cast<size_t>(parameter.kind)]},
                 {"optional", parameter.is_optional}};
    if (parameter.is_tensor()) {
      made["role"] = kRoles[static_cast<size_t>(parameter.role)];
      made["dtypes"] = names_of(function.dtypes_of(parameter));
      if (!parameter.dtypes.same_as.empty()) made["sameDtypeAs"] = parameter.dtypes.same_as;
      if (parameter.may_equal_output) made["mayEqualOutput"] = true;
    } else if (!parameter.fallback.empty()) {
      made["default"] = json::parse(parameter.fallback);
    }
    parameters.push_back(std::move(made));
  }
  return {{"name", function.function}, {"parameters", parameters}};
}

json as_json(const Room& room) {
  json functions = json::array();
  for (const Description* function : functions_of(room)) functions.push_back(as_json(*function));
  json arguments = json::array();
  for (const Argument& argument : arguments_of(room)) {
    arguments.push_back({{"name", argument.name},
                         {"type", argument.types},
                         {"shape", argument.shape},
                         {"constraint", argument.constraint}});
  }
  const std::string python = python_signature(room);
  return {{"name", room.function},
          {"devices", kDevices},
          {"functions", functions},
          {"arguments", arguments},
          {"c", code_block(page(room.folder), "c")},
          {"python", python.empty() ? json() : json(python)}};
}

void print_matrix() {
  Table table({"operator", "device", "dtypes"});
  for (const Room& room : rooms()) {
    for (const Description* function : functions_of(room)) {
      table.add({function->function, words(kDevices),
                 words(names_of(function->dtypes_of(function->parameters[0])))});
    }
  }
  table.print();
  fmt::print("\n`openaclnn ops NAME` prints the reference page of an operator.\n");
}

void print_page(const Room& room) {
  fmt::print("{}", plain_text(page(room.folder)));
  const std::string python = python_signature(room);
  if (python.empty()) {
    fmt::print("\nPython: this build doesn't include the Python package\n");
  } else {
    fmt::print("\nPython:\n\n{}", python);
  }
}

struct OpsOptions {
  std::string name;
  bool json = false;
};

int show(const OpsOptions& options) {
  if (!options.name.empty()) {
    const Room& room = find_room(options.name);
    if (options.json) {
      print_json(as_json(room));
    } else {
      print_page(room);
    }
    return kFine;
  }
  if (!options.json) return print_matrix(), kFine;
  json all = json::array();
  for (const Room& room : rooms()) all.push_back(as_json(room));
  print_json(all);
  return kFine;
}

}  // namespace

void add_ops(Program& program) {
  const auto options = std::make_shared<OpsOptions>();
  CLI::App* const command = add_command(
      program, "ops", "List operators with dtypes and devices, or print the reference page of an operator",
      "Examples: openaclnn ops\n"
      "          openaclnn ops Embedding | less\n"
      "--json prints the functions with their parameters, dtypes and defaults, the arguments of the page, "
      "and the signatures in C and Python.",
      [options] { return show(*options); });
  command
      ->add_option("NAME", options->name,
                   "The operator, such as Embedding or aclnnEmbedding; case doesn't matter")
      ->type_name("");
  add_json_option(*command, options->json);
}

}  // namespace openaclnn_cli
