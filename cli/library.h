// The library as it describes itself, and its errors as exceptions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace openaclnn_cli {

// openaclnnDescribe() as an object.
const nlohmann::json& library_facts();

// The file that the library was loaded from.
std::string library_path();

// This thread's error text, its sentences in one line, and clears it.
std::string error_text();

// The folder of this program's file.
std::string program_folder();

}  // namespace openaclnn_cli
