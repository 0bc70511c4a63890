// Queries the library about itself.
#include "library.h"

#include <dlfcn.h>

#include <filesystem>

#include "acl/acl.h"
#include "openaclnn/openaclnn.h"
#include "program.h"

namespace openaclnn_cli {

const nlohmann::json& library_facts() {
  static const nlohmann::json facts = [] {
    std::string text;
    uint64_t length = 0;
    // The description has the memory that is free now, so it may have grown since its length was asked.
    do {
      text.resize(length + 1);
      if (openaclnnDescribe(text.data(), text.size(), &length) != 0) throw Failure(error_text());
    } while (length >= text.size());
    text.resize(length);
    return nlohmann::json::parse(text);
  }();
  return facts;
}

std::string library_path() {
  Dl_info info = {};
  return dladdr(reinterpret_cast<void*>(&openaclnnDescribe), &info) != 0 ? info.dli_fname : "";
}

std::string program_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

}  // namespace openaclnn_cli
