// The folder of results: found or made before the work begins, so that a minute of training is never lost to a bad path.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace train {

class OutputFolder {
 public:
  // Makes the folder and its missing parents and proves that a file can be made in it; InputError when not, and then nothing is left.
  explicit OutputFolder(const std::string& path);
  // Removes the folders it made when nothing was written into them.
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  // Replaces the file in one step (write beside it, then rename): readers see the old or the new contents, never a part. Throws RunError.
  void write(const std::string& name, std::string_view contents) const;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  void remove_made() const;

  std::filesystem::path path_;
  std::vector<std::filesystem::path> made_;  // outermost first
};

}  // namespace train
