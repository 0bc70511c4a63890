// Problems of an installation: settings that nobody reads, and libraries that stand in each other's way.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace openaclnn_cli {

struct Problem {
  std::string what, remedy;
};

// OPENACLNN_ variables that the library does not know or does not understand.
void find_setting_problems(const nlohmann::json& known, std::vector<Problem>& problems);

// Libraries with CANN's names, or other copies of ours, on LD_LIBRARY_PATH before `library`.
void find_library_problems(const std::string& library, std::vector<Problem>& problems);

// python3 and the packages that openaclnn can use, each with its version or "not installed".
nlohmann::json python_facts();

}  // namespace openaclnn_cli
