// Reads and writes tensor files.
#include "tensor_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "acl/acl.h"
#include "base/dtype.h"
#include "base/npy_header.h"
#include "library.h"
#include "new_file.h"
#include "npy.h"
#include "program.h"
#include "safetensors.h"

namespace openaclnn_cli {

namespace {

// Returns false if the file is too short or cannot be read.
bool read_at(int file, void* to, size_t bytes, uint64_t at) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t count =
        pread(file, static_cast<char*>(to) + done, bytes - done, static_cast<off_t>(at + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

constexpr uint64_t kPieceBytes = uint64_t{4} << 20;

// Calls body(at, bytes) for parts of a tensor that pass through host memory one by one.
template <class Body>
void for_each_piece(uint64_t bytes, const Body& body) {
  for (uint64_t at = 0; at < bytes; at += kPieceBytes) body(at, std::min(kPieceBytes, bytes - at));
}

LoadedTensor read_elements(int file, StoredTensor header) {
  LoadedTensor loaded = {std::move(header), nullptr};
  loaded.memory = std::make_shared<DeviceMemory>(loaded.header.bytes);
  std::string piece(std::min(kPieceBytes, loaded.header.bytes), '\0');
  for_each_piece(loaded.header.bytes, [&](uint64_t at, uint64_t bytes) {
    if (!read_at(file, piece.data(), bytes, loaded.header.begin + at))
      throw BadInput("the file cannot be read to its end");
    loaded.memory->put(piece.data(), bytes, at);
  });
  return loaded;
}

StoredTensor choose(std::vector<StoredTensor> tensors, const std::string& name) {
  if (name.empty() && tensors.size() == 1) return std::move(tensors[0]);
  std::string names;
  for (StoredTensor& tensor : tensors) {
    if (tensor.name == name) return std::move(tensor);
    if (names.size() < 300) names += (names.empty() ? "" : ", ") + shown(tensor.name);
  }
  if (tensors.empty()) throw BadInput("the file has no tensors");
  if (name.empty())
    throw BadInput(fmt::format("the file has {} tensors; select one with :NAME: {}", tensors.size(), names));
  throw BadInput(fmt::format("the file has no tensor '{}'; it has {}", shown(name), names));
}

LoadedTensor load_file(const std::string& path, const std::string& name, bool is_npy) {
  // O_NONBLOCK: does not wait for a writer if the file is a pipe.
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (*file < 0 || fstat(*file, &status) != 0) throw BadInput(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) throw BadInput("this isn't a regular file");
  const auto file_bytes = static_cast<uint64_t>(status.st_size);
  std::string head(std::min<uint64_t>(file_bytes, is_npy ? kNpyHead : kSafetensorsHead), '\0');
  if (!read_at(*file, head.data(), head.size(), 0)) throw BadInput("the file cannot be read");
  if (is_npy) return read_elements(*file, parse_npy(head, file_bytes));
  return read_elements(*file, choose(parse_safetensors(head, file_bytes), name));
}

// Parses "3,1,4" as INT64 [3]; returns false if the text has another form.
bool read_numbers(const std::string& text, LoadedTensor& loaded) {
  std::vector<int64_t> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    int64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return false;
    numbers.push_back(number);
    if (next == end) break;
    if (*next != ',') return false;
    at = next + 1;
  }
  loaded = make_tensor(ACL_INT64, {static_cast<int64_t>(numbers.size())});
  loaded.memory->put(numbers.data(), loaded.header.bytes);
  return true;
}

bool is_npy(const std::string& path) { return path.ends_with(".npy"); }
bool is_safetensors(const std::string& path) { return path.ends_with(".safetensors"); }

void write_tensors(NewFile& file, const TensorOutput& output) {
  std::vector<StoredTensor> headers;
  for (const LoadedTensor& tensor : output.tensors) headers.push_back(tensor.header);
  const std::string head = is_npy(output.path) ? openaclnn::npy_header(headers[0].dtype, headers[0].dims)
                                               : safetensors_header(headers);
  file.append(head);
  for (const LoadedTensor& tensor : output.tensors) {
    std::string piece(std::min(kPieceBytes, tensor.header.bytes), '\0');
    for_each_piece(tensor.header.bytes, [&](uint64_t at, uint64_t bytes) {
      tensor.memory->get(piece.data(), bytes, at);
      file.append({piece.data(), bytes});
    });
  }
  file.sync();
}

}  // namespace

DeviceMemory::DeviceMemory(uint64_t bytes) {
  static const int has_device = aclrtSetDevice(0);  // for the one thread that creates tensors
  if (has_device != 0) throw Failure(error_text());
  if (bytes > 0 && aclrtMalloc(&data, bytes, ACL_MEM_MALLOC_HUGE_FIRST) != 0) throw Failure(error_text());
}

DeviceMemory::~DeviceMemory() {
  if (data != nullptr) aclrtFree(data);
}

void DeviceMemory::put(const void* from, uint64_t bytes, uint64_t at) {
  if (bytes == 0) return;
  if (aclrtMemcpy(static_cast<char*>(data) + at, bytes, from, bytes, ACL_MEMCPY_HOST_TO_DEVICE) != 0)
    throw Failure(error_text());
}

void DeviceMemory::get(void* to, uint64_t bytes, uint64_t at) const {
  if (bytes == 0) return;
  if (aclrtMemcpy(to, bytes, static_cast<const char*>(data) + at, bytes, ACL_MEMCPY_DEVICE_TO_HOST) != 0)
    throw Failure(error_text());
}

LoadedTensor make_tensor(aclDataType dtype, const std::vector<int64_t>& dims) {
  LoadedTensor made;
  made.header.dtype = dtype;
  made.header.dims = dims;
  made.header.bytes = checked_bytes("a result", dtype, dims);
  made.memory = std::make_shared<DeviceMemory>(made.header.bytes);
  return made;
}

LoadedTensor load_tensor(const std::string& source) {
  LoadedTensor loaded;
  if (read_numbers(source, loaded)) return loaded;
  try {
    if (is_npy(source)) return load_file(source, "", true);
    constexpr std::string_view kEnding = ".safetensors";
    const size_t ending = source.find(kEnding);
    if (ending == std::string::npos)
      throw BadInput(
          "unrecognized tensor; expected FILE.npy, FILE.safetensors:NAME or integers such as 3,1,4");
    const std::string path = source.substr(0, ending + kEnding.size()), rest = source.substr(path.size());
    if (!rest.empty() && rest[0] != ':') throw BadInput("unexpected text after .safetensors; expected :NAME");
    return load_file(path, rest.empty() ? "" : rest.substr(1), false);
  } catch (const BadInput& error) {
    throw BadInput(fmt::format("{}: {}", source, error.what()));
  }
}

void require_writable(const TensorOutput& output) {
  if (!is_npy(output.path) && !is_safetensors(output.path))
    throw BadInput(fmt::format(
        "{}: unrecognized file name; results are written to .npy or .safetensors files", output.path));
  if (is_npy(output.path) && output.tensors.size() != 1) {
    throw BadInput(fmt::format(
        "{}: a .npy file holds one result, but there are {}; use .safetensors, or --out NAME=FILE",
        output.path, output.tensors.size()));
  }
  for (const LoadedTensor& tensor : output.tensors) {
    if (is_safetensors(output.path) && !has_safetensors_name(tensor.header.dtype))
      throw BadInput(fmt::format("{}: .safetensors files don't support dtype {}; use .npy", output.path,
                                 openaclnn::dtype_name(tensor.header.dtype)));
  }
}

void save_tensors(std::span<const TensorOutput> outputs) {
  std::vector<std::unique_ptr<NewFile>> files;
  for (const TensorOutput& output : outputs) {
    files.push_back(std::make_unique<NewFile>(output.path));
    write_tensors(*files.back(), output);
  }
  for (const std::unique_ptr<NewFile>& file : files) file->publish();
}

}  // namespace openaclnn_cli
