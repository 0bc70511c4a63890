// Finds and opens the CUDA plugin and creates the platform of its devices.
#include <dlfcn.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>

#include "base/text.h"
#include "cuda/device.h"
#include "cuda/driver.h"
#include "cuda/plugin.h"
#include "cuda/queue.h"
#include "runtime/device.h"

namespace openaclnn::cuda {

namespace {

constexpr const char* kPluginFile = "libopenaclnn_cuda.so";

// Returns the folder of the file that this code was loaded from. Never returns the current directory.
std::string folder_of_library() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&folder_of_library), &info) == 0 || info.dli_fname == nullptr)
    return {};
  const std::string file = info.dli_fname;
  return file.starts_with('/') ? file.substr(0, file.rfind('/') + 1) : std::string();
}

// Returns the path of the plugin, or why there is none.
Result<std::string> plugin_path() {
  const std::string& asked = environment().cuda_plugin;
  if (!asked.empty()) return asked;
  const std::string folder = folder_of_library();
  // Debian packages place it in a folder of its own, because programs do not link with it.
  const std::string installed = folder + "openaclnn/" + kPluginFile;
  if (!folder.empty() && access(installed.c_str(), F_OK) == 0) return installed;
  if (!folder.empty()) return folder + kPluginFile;
  return Status(1,
                "the library was loaded from a relative path, so it does not look for its CUDA plugin; set "
                "OPENACLNN_CUDA_PLUGIN to the plugin's absolute path");
}

// Returns the table of the plugin, or why there is none. The plugin stays open, because the driver has
// threads in it.
Result<const PluginTable*> open_plugin() {
  OPENACLNN_TRY_ASSIGN(path, plugin_path());
  if (access(path.c_str(), F_OK) != 0) return Status(1, "plugin file not found at " + path);
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* const why = dlerror();
    return Status(1, text("plugin ", path, " failed to load: ", why != nullptr ? why : "no reason given"));
  }
  const auto get_table = reinterpret_cast<GetPluginTable>(dlsym(library, kGetPluginTable));
  const PluginTable* const table = get_table != nullptr ? get_table() : nullptr;
  if (table == nullptr) return Status(1, text("plugin ", path, " isn't a CUDA plugin of openaclnn"));
  if (table->table_bytes != sizeof(PluginTable) || std::strcmp(table->build, OPENACLNN_CUDA_BUILD) != 0) {
    return Status(1, text("plugin ", path, " belongs to a different build of openaclnn (", table->build,
                          ") than the library (", OPENACLNN_CUDA_BUILD, ")"));
  }
  return table;
}

Platform* make_platform() {
  auto platform = std::make_unique<Platform>(PlatformKind::cuda);
  Result<const PluginTable*> table = open_plugin();
  if (!table.ok()) {
    platform->why_none = "no CUDA device: " + table.status().sentence();
    return platform.release();
  }
  const char* why = "";
  const int count = (*table)->device_count(&why);
  if (count == 0) {
    platform->why_none = text("no CUDA device: ", why);
    return platform.release();
  }
  note_use_of_cuda();
  platform->usability = usability_of_process;
  const auto queues = std::make_shared<QueueRegistry>();
  platform->devices.reserve(static_cast<size_t>(count));
  for (int id = 0; id < count; ++id) platform->devices.push_back(make_device(**table, id, queues));
  log_message(LogLevel::info, text("CUDA platform: ", count, " device(s)"));
  return platform.release();
}

[[maybe_unused]] const bool registered = (register_platform(PlatformKind::cuda, make_platform), true);

}  // namespace

}  // namespace openaclnn::cuda
