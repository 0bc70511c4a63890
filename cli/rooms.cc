// The list of operators, built from src/ops/ops.def and the library.
#include "rooms.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/function_name.h"
#include "base/nearest.h"
#include "library.h"
#include "pages.h"
#include "program.h"
#include "verify/room_descriptions.h"

namespace openaclnn_cli {

namespace {

std::string simplified(const std::string& word) {
  std::string simple;
  for (const char c : word) {
    if (c != '_' && c != '-') simple += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return simple;
}

std::vector<Room> make_rooms() {
  std::vector<Room> all;
#define OPENACLNN_OPERATOR(folder, name) all.push_back({#folder, #name, {}});
#include "ops/ops.def"
#undef OPENACLNN_OPERATOR
  const nlohmann::json& functions = library_facts()["operators"];
  for (Room& room : all) {
    for (const std::string function : functions) {
      if (function.ends_with("nn" + room.name)) room.function = function;
    }
  }
  return all;
}

}  // namespace

std::span<const Room> rooms() {
  static const std::vector<Room> all = make_rooms();
  return all;
}

const Room& find_room(const std::string& word) {
  std::vector<std::string_view> names;
  for (const Room& room : rooms()) {
    for (const std::string& name : {room.name, room.function}) {
      if (simplified(name) == simplified(word)) return room;
    }
    names.push_back(room.name);
  }
  // Versions of a function, such as ApplyAdamWV2, share a room.
  for (const openaclnn_verify::Description& description : openaclnn_verify::descriptions()) {
    const auto has_it = [&](const Room& room) { return room.folder == description.room; };
    for (const std::string& name : {description.name(), description.function}) {
      if (simplified(name) == simplified(word)) return *std::ranges::find_if(rooms(), has_it);
    }
  }
  const std::string nearest = openaclnn::did_you_mean(openaclnn::without_aclnn(word), names);
  throw BadInput(
      fmt::format("unknown operator '{}'{}", word,
                  nearest.empty() ? fmt::format("; the operators are {}", fmt::join(names, ", ")) : nearest));
}

std::string python_signature(const Room& room) {
  const std::string stubs(page("python"));
  for (const std::string& name : {room.folder, room.folder + "_"}) {
    const size_t begin = stubs.find("\ndef " + name + "(");
    if (begin == std::string::npos) continue;
    const size_t end = stubs.find(": ...", begin);
    return "openaclnn." + name + stubs.substr(begin + 5 + name.size(), end - begin - 5 - name.size()) + "\n";
  }
  return {};
}

}  // namespace openaclnn_cli
