// Reads the central directory of a zip archive, and the local header of each entry.
#include "files/zip.h"

#include <fmt/core.h>

#include <string_view>

#include "files/errors.h"

namespace openaclnn_files {

namespace {

constexpr uint32_t kEndSignature = 0x06054b50, kZip64EndSignature = 0x06064b50;
constexpr uint32_t kZip64LocatorSignature = 0x07064b50, kEntrySignature = 0x02014b50;
constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr size_t kEndBytes = 22, kZip64EndBytes = 56, kZip64LocatorBytes = 20;
constexpr size_t kEntryBytes = 46, kLocalBytes = 30, kMostComment = 65535;
constexpr uint64_t kInZip64 = 0xFFFFFFFF;  // the value is in the extra field of zip64

// Little-endian numbers at offsets of a record.
class Record {
 public:
  explicit Record(std::string_view bytes) : bytes_(bytes) {}

  uint64_t number(size_t at, size_t count) const {
    if (at > bytes_.size() || count > bytes_.size() - at) throw BadInput("the zip directory is truncated");
    uint64_t value = 0;
    for (size_t k = 0; k < count; ++k)
      value |= uint64_t{static_cast<unsigned char>(bytes_[at + k])} << (8 * k);
    return value;
  }
  uint64_t u16(size_t at) const { return number(at, 2); }
  uint64_t u32(size_t at) const { return number(at, 4); }
  uint64_t u64(size_t at) const { return number(at, 8); }
  std::string_view part(size_t at, size_t count) const {
    if (at > bytes_.size() || count > bytes_.size() - at) throw BadInput("the zip directory is truncated");
    return bytes_.substr(at, count);
  }

 private:
  std::string_view bytes_;
};

struct Directory {
  uint64_t begin = 0, bytes = 0, entries = 0;
};

Directory find_directory(const Source& file) {
  const uint64_t size = file.size();
  const uint64_t tail_begin = size > kEndBytes + kMostComment + kZip64LocatorBytes
                                  ? size - kEndBytes - kMostComment - kZip64LocatorBytes
                                  : 0;
  const std::string tail = file.head(tail_begin, size - tail_begin);
  const size_t end = tail.rfind("PK\x05\x06");
  if (end == std::string::npos || tail.size() - end < kEndBytes)
    throw BadInput("the file has no zip directory at its end; it is truncated or another format");
  const Record record(std::string_view(tail).substr(end));
  if (record.u32(0) != kEndSignature || record.u16(4) != 0 || record.u16(6) != 0)
    throw BadInput("the zip archive spans several files");
  Directory found = {record.u32(16), record.u32(12), record.u16(10)};
  const bool has_locator = end >= kZip64LocatorBytes;
  if (has_locator) {
    const Record locator(std::string_view(tail).substr(end - kZip64LocatorBytes));
    if (locator.u32(0) == kZip64LocatorSignature) {
      const uint64_t at = locator.u64(8);
      if (at > size || size - at < kZip64EndBytes) throw BadInput("the zip64 directory is outside the file");
      const std::string bytes = file.head(at, kZip64EndBytes);
      const Record zip64(bytes);
      if (zip64.u32(0) != kZip64EndSignature) throw BadInput("the zip64 directory has a wrong signature");
      found = {zip64.u64(48), zip64.u64(40), zip64.u64(32)};
    }
  }
  if (found.begin > size || found.bytes > size - found.begin)
    throw BadInput("the zip directory is outside the file; the file is truncated");
  if (found.bytes > kMostZipDirectory)
    throw BadInput(fmt::format("the zip directory has {} bytes; at most {} are accepted", found.bytes,
                               kMostZipDirectory));
  return found;
}

// Replaces numbers that did not fit into 32 bits by those of the extra field with id 1.
void apply_zip64(std::string_view extra, uint64_t& raw_bytes, uint64_t& stored_bytes, uint64_t& header) {
  const Record record(extra);
  size_t at = 0;
  while (at + 4 <= extra.size()) {
    const uint64_t id = record.u16(at), length = record.u16(at + 2);
    const Record field(record.part(at + 4, length));
    at += 4 + length;
    if (id != 1) continue;
    size_t next = 0;
    for (uint64_t* const value : {&raw_bytes, &stored_bytes, &header}) {
      if (*value != kInZip64) continue;
      *value = field.u64(next);
      next += 8;
    }
  }
}

ZipEntry locate(const Source& file, std::string_view name, uint64_t header, uint64_t bytes) {
  const auto outside = [&] {
    return BadInput(
        fmt::format("zip entry '{}' is outside the file; the file is truncated", shown(std::string(name))));
  };
  const uint64_t size = file.size();
  if (header > size || size - header < kLocalBytes) throw outside();
  const std::string local_bytes = file.head(header, kLocalBytes);
  const Record local(local_bytes);
  if (local.u32(0) != kLocalSignature)
    throw BadInput(fmt::format("zip entry '{}' has no header at its offset", shown(std::string(name))));
  const uint64_t before = kLocalBytes + local.u16(26) + local.u16(28);
  if (size - header < before || size - header - before < bytes) throw outside();
  return {std::string(name), header + before, bytes};
}

}  // namespace

std::vector<ZipEntry> read_zip(const Source& file) {
  const Directory directory = find_directory(file);
  const std::string bytes = file.head(directory.begin, directory.bytes);
  const Record record(bytes);
  std::vector<ZipEntry> entries;
  size_t at = 0;
  for (uint64_t k = 0; k < directory.entries; ++k) {
    if (record.u32(at) != kEntrySignature) throw BadInput("the zip directory has a wrong signature");
    const uint64_t flags = record.u16(at + 8), method = record.u16(at + 10);
    uint64_t stored_bytes = record.u32(at + 20), raw_bytes = record.u32(at + 24),
             header = record.u32(at + 42);
    const uint64_t name_bytes = record.u16(at + 28), extra_bytes = record.u16(at + 30);
    const uint64_t comment_bytes = record.u16(at + 32);
    const std::string_view name = record.part(at + kEntryBytes, name_bytes);
    apply_zip64(record.part(at + kEntryBytes + name_bytes, extra_bytes), raw_bytes, stored_bytes, header);
    at += kEntryBytes + name_bytes + extra_bytes + comment_bytes;
    const bool is_encrypted = (flags & 1) != 0;
    if (is_encrypted || method != 0 || raw_bytes != stored_bytes) {
      throw BadInput(
          fmt::format("zip entry '{}' is compressed or encrypted; torch.save stores entries as they are",
                      shown(std::string(name))));
    }
    entries.push_back(locate(file, name, header, stored_bytes));
  }
  return entries;
}

}  // namespace openaclnn_files
