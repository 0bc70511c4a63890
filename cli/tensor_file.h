// Loads tensors from files and saves them to files.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "files/stored_tensor.h"
#include "judge/device_call.h"

namespace openaclnn_cli {

using openaclnn_files::StoredTensor;
using openaclnn_judge::DeviceMemory;

struct LoadedTensor {
  StoredTensor header;
  std::shared_ptr<DeviceMemory> memory;
};

// Loads a tensor from `source`: a file as openaclnn_files::read_tensor() accepts it, or whole numbers "3,1,4",
// which become INT64. Throws BadInput with an error message that starts with the source.
LoadedTensor load_tensor(const std::string& source);

// The elements are uninitialised.
LoadedTensor make_tensor(aclDataType dtype, const std::vector<int64_t>& dims);

// An output file: *.npy with one tensor, or *.safetensors with any number.
struct TensorOutput {
  std::string path;
  std::vector<LoadedTensor> tensors;
};

// Throws BadInput if the file has another extension or cannot hold the tensors.
void require_writable(const TensorOutput& output);

// Writes all files like NewFile: none replaces an old file before all are complete.
void save_tensors(std::span<const TensorOutput> outputs);

}  // namespace openaclnn_cli
