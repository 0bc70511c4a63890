// Tensors from files and into files.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stored_tensor.h"

namespace openaclnn_cli {

// Device memory that belongs to the tensor. On a GPU the host reaches it by copies only.
struct DeviceMemory {
  explicit DeviceMemory(uint64_t bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void put(const void* from, uint64_t bytes, uint64_t at = 0);
  void get(void* to, uint64_t bytes, uint64_t at = 0) const;

  void* data = nullptr;  // nullptr for 0 bytes
};

struct LoadedTensor {
  StoredTensor header;
  std::shared_ptr<DeviceMemory> memory;
};

// `source`: FILE.npy, FILE.safetensors:NAME, FILE.safetensors with one tensor in it, or whole numbers "3,1,4" that become INT64.
// Throws BadInput with a sentence that begins with the source.
LoadedTensor load_tensor(const std::string& source);

// Uninitialised.
LoadedTensor make_tensor(aclDataType dtype, const std::vector<int64_t>& dims);

// A file to write: *.npy with one tensor or *.safetensors with any number.
struct TensorOutput {
  std::string path;
  std::vector<LoadedTensor> tensors;
};

// Throws BadInput when the name of the file ends otherwise, or the tensors do not go into such a file.
void require_writable(const TensorOutput& output);

// Writes all files as NewFile does: none replaces another before all are complete.
void save_tensors(std::span<const TensorOutput> outputs);

}  // namespace openaclnn_cli
