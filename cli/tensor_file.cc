// Reads and writes tensor files.
#include "tensor_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "acl/acl.h"
#include "base/dtype.h"
#include "base/npy_header.h"
#include "files/pt.h"
#include "files/safetensors.h"
#include "files/tensor_file.h"
#include "new_file.h"
#include "program.h"

namespace openaclnn_cli {

namespace {

constexpr uint64_t kPieceBytes = uint64_t{4} << 20;

// Calls body(at, bytes) for parts of a tensor that pass through host memory one by one.
template <class Body>
void for_each_piece(uint64_t bytes, const Body& body) {
  for (uint64_t at = 0; at < bytes; at += kPieceBytes) body(at, std::min(kPieceBytes, bytes - at));
}

bool is_npy(const std::string& path) { return path.ends_with(".npy"); }
bool is_safetensors(const std::string& path) { return path.ends_with(".safetensors"); }

LoadedTensor load_elements(const openaclnn_files::Source& file, StoredTensor header) {
  LoadedTensor loaded = {std::move(header), nullptr};
  loaded.memory = std::make_shared<DeviceMemory>(loaded.header.bytes);
  std::string piece(std::min(kPieceBytes, loaded.header.bytes), '\0');
  for_each_piece(loaded.header.bytes, [&](uint64_t at, uint64_t bytes) {
    file.read(loaded.header.begin + at, piece.data(), bytes);
    loaded.memory->put(piece.data(), bytes, at);
  });
  return loaded;
}

LoadedTensor load_file(const openaclnn_files::TensorName& from) {
  const openaclnn_files::OpenFile file(from.path);
  if (!from.path.ends_with(".pt")) return load_elements(file, openaclnn_files::read_header(file, from));
  const openaclnn_files::FileTensor read = openaclnn_files::read_pt(file, from.name);
  LoadedTensor loaded = make_tensor(read.dtype, read.dims);
  loaded.memory->put(read.bytes.data(), read.bytes.size());
  return loaded;
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

// Returns whether the text looks like numbers rather than the name of a file.
bool looks_like_numbers(const std::string& text) {
  return text.find_first_of("0123456789") != std::string::npos &&
         text.find_first_not_of("0123456789.,+-eE ") == std::string::npos;
}

void write_tensors(NewFile& file, const TensorOutput& output) {
  std::vector<StoredTensor> headers;
  for (const LoadedTensor& tensor : output.tensors) headers.push_back(tensor.header);
  const std::string head = is_npy(output.path) ? openaclnn::npy_header(headers[0].dtype, headers[0].dims)
                                               : openaclnn_files::safetensors_header(headers);
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

LoadedTensor make_tensor(aclDataType dtype, const std::vector<int64_t>& dims) {
  LoadedTensor made;
  made.header.dtype = dtype;
  made.header.dims = dims;
  made.header.bytes = openaclnn_files::checked_bytes("a result", dtype, dims);
  made.memory = std::make_shared<DeviceMemory>(made.header.bytes);
  return made;
}

LoadedTensor load_tensor(const std::string& source) {
  LoadedTensor loaded;
  if (read_numbers(source, loaded)) return loaded;
  if (looks_like_numbers(source))
    throw BadInput(
        fmt::format("{}: numbers must be 64-bit integers such as 3,1,4; others come from a file", source));
  try {
    return load_file(openaclnn_files::split_source(source));
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
  const std::filesystem::path folder = std::filesystem::path(output.path).parent_path();
  std::error_code error;
  const auto kind = std::filesystem::status(folder.empty() ? "." : folder, error).type();
  if (kind == std::filesystem::file_type::not_found)
    throw Failure(fmt::format("{}: there is no folder {}", output.path, folder.string()));
  if (kind != std::filesystem::file_type::directory)
    throw Failure(fmt::format("{}: {} {}", output.path, folder.string(),
                              error ? "can't be searched: " + error.message() : "isn't a folder"));
  for (const LoadedTensor& tensor : output.tensors) {
    if (is_safetensors(output.path) && !openaclnn_files::has_safetensors_name(tensor.header.dtype))
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
