// Reads the container of device code that nvcc puts into objects.
#include "cuda/ptx/fat_binary.h"

#include <cstdint>
#include <cstring>

namespace openaclnn::ptx {

namespace {

// The object registers a pointer to a header. Entries with their own headers follow it.
struct Wrapper {
  uint32_t magic, version;
  const std::byte* data;
};
struct Header {
  uint32_t magic;
  uint16_t version, header_bytes;
  uint64_t bytes;  // size of all entries
};
struct Entry {
  uint16_t kind, version;
  uint32_t header_bytes;
  uint64_t bytes;
  uint32_t compressed_bytes;
};
constexpr uint32_t kWrapperMagic = 0x466243B1, kMagic = 0xBA55ED50;
constexpr uint16_t kPtx = 1;

template <class T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

std::string find_ptx(const void* fat_binary) {
  const auto wrapper = read<Wrapper>(static_cast<const std::byte*>(fat_binary));
  if (wrapper.magic != kWrapperMagic) report("an object's device code has an unknown form");
  const auto header = read<Header>(wrapper.data);
  if (header.magic != kMagic) report("an object's device code has an unknown form");
  const std::byte* at = wrapper.data + header.header_bytes;
  const std::byte* const end = at + header.bytes;
  while (at < end) {
    const auto entry = read<Entry>(at);
    if (entry.kind == kPtx) {
      if (entry.compressed_bytes != 0) report("an object's PTX is compressed; compile it with --no-compress");
      const char* const text = reinterpret_cast<const char*>(at + entry.header_bytes);
      return std::string(text, strnlen(text, entry.bytes));
    }
    at += entry.header_bytes + entry.bytes;
  }
  return {};
}

}  // namespace openaclnn::ptx
