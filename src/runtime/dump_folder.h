// The folder that acl.json asks for, in msprobe's layout:
//   {dump_path}/step{S}/proc{PID}/dump.json, and dump_tensor_data/ with a .npy file for each tensor.
// S is the lowest number for which the folder doesn't exist yet, so no dump is overwritten.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "runtime/dump_settings.h"

namespace openaclnn {

// The place of one call in a dump.
struct DumpPlace {
  std::string folder;  // that of dump.json
  std::string key;     // in dump.json: "Aten.Embedding.3.forward"

  // The path of a tensor, such as "Aten.Embedding.3.forward.output.0.npy".
  std::string tensor_path(const std::string& file) const;
};

// Safe to use from any thread. A forked child writes into a folder of its own.
class DumpFolder {
 public:
  // The one of the current aclInit; nullptr if acl.json asks for no dumps.
  static std::shared_ptr<DumpFolder> current();
  // Creates dump_path, and its parents where they are missing, and makes it the current one. Fails (100009) if
  // this process cannot write there. Settings that are off mean no folder.
  static Status open(DumpSettings settings, const std::string& file);
  static void close();

  const DumpSettings& settings() const { return settings_; }
  // Returns whether "dump_list" selects one of the names, with or without "aclnn" before them.
  bool selects(const std::string& type, const std::string& name) const;

  // Numbers the calls of each API from 0. The first call creates the folder. Fails with 100004.
  Result<DumpPlace> add_call(const std::string& api);
  // Adds the call's entry to dump.json, which is valid JSON at any moment. Fails with 100004.
  Status write_entry(const DumpPlace& place, const std::string& entry);

  // Prints the first failure of a call that doesn't report it otherwise.
  void log_once(const std::string& failure);

  explicit DumpFolder(DumpSettings settings);
  ~DumpFolder();
  DumpFolder(const DumpFolder&) = delete;
  DumpFolder& operator=(const DumpFolder&) = delete;

 private:
  struct Progress;

  Status create(Progress& progress) const;
  static Status fill(const std::string& folder, Progress& progress);

  const DumpSettings settings_;
  std::unique_ptr<Progress> progress_;  // guarded by the mutex of all folders
};

}  // namespace openaclnn
