// Problems of an installation: unknown settings and conflicting libraries.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace openaclnn_cli {

struct Problem {
  std::string what, remedy;
};

// Finds OPENACLNN_ variables that the library does not know or does not accept.
void find_setting_problems(const nlohmann::json& known, std::vector<Problem>& problems);

// Finds libraries with CANN's names, or other copies of ours, on LD_LIBRARY_PATH before `library`.
void find_library_problems(const std::string& library, std::vector<Problem>& problems);

// Returns the versions of python3 and of the packages that openaclnn can use, or "not installed".
nlohmann::json python_facts();

}  // namespace openaclnn_cli
