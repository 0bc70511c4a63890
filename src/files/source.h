// The bytes that a reader parses: an open file, or memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace openaclnn_files {

class Source {
 public:
  virtual ~Source() = default;
  virtual uint64_t size() const = 0;
  // Copies bytes of the file. Throws BadInput if they end beyond the file or cannot be read.
  virtual void read(uint64_t at, void* to, uint64_t bytes) const = 0;

  // Returns up to `most` bytes from `at` on.
  std::string head(uint64_t at, uint64_t most) const;
};

class OpenFile : public Source {
 public:
  // Throws BadInput if `path` is not a regular file that can be read.
  explicit OpenFile(const std::string& path);
  ~OpenFile() override;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  uint64_t size() const override { return size_; }
  void read(uint64_t at, void* to, uint64_t bytes) const override;

 private:
  int file_ = -1;
  uint64_t size_ = 0;
};

class Memory : public Source {
 public:
  explicit Memory(std::string_view bytes) : bytes_(bytes) {}

  uint64_t size() const override { return bytes_.size(); }
  void read(uint64_t at, void* to, uint64_t bytes) const override;

 private:
  std::string_view bytes_;
};

}  // namespace openaclnn_files
