// The library's description of itself, and its errors as exceptions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace openaclnn_cli {

// Returns openaclnnDescribe() as a JSON object.
const nlohmann::json& library_facts();

// Returns the file that the library was loaded from.
std::string library_path();

// Returns the folder of this program's file.
std::string program_folder();

}  // namespace openaclnn_cli
