// The folder of results. It is tested before the work begins, so that an invalid path never costs a
// minute of training.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace train {

class OutputFolder {
 public:
  // Proves that the folder and a file in it can be made, and leaves nothing behind. Throws
  // InputError if not.
  explicit OutputFolder(const std::string& path);

  // Makes the folder if it is missing and replaces the file in one step (write beside it, then
  // rename): readers see the old or the new contents, never a part. Throws RunError.
  void write(const std::string& name, std::string_view contents) const;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace train
