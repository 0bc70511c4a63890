// What one call through the C API needs: memory of the current device, and handles of the arguments.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "verify/description.h"

namespace openaclnn_judge {

// Returns and clears this thread's error messages, in one line.
std::string error_text();

// Memory of this thread's current device, or of device 0 if it has none. On a GPU the host can access it only by copies. All functions
// throw openaclnn_files::Failure with the library's error message.
class DeviceMemory {
 public:
  explicit DeviceMemory(uint64_t bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void* data() const { return data_; }  // nullptr for 0 bytes
  uint64_t bytes() const { return bytes_; }
  // Copy `bytes` bytes to or from the memory `at` bytes after its begin.
  void put(const void* from, uint64_t bytes, uint64_t at = 0);
  void get(void* to, uint64_t bytes, uint64_t at = 0) const;
  void clear();

 private:
  void* data_ = nullptr;
  uint64_t bytes_;
};

// A tensor in device memory.
struct PlacedTensor {
  aclDataType dtype;
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;  // in elements; empty: row-major without gaps
  void* data;
};

// The tensors of a call by parameter name: one, or those of a list.
using PlacedTensors = std::map<std::string, std::vector<PlacedTensor>>;

// The handles of one call in the order of the description's parameters; NULL for numbers and for omitted arguments. The constructor
// throws openaclnn_files::Failure if the library makes no handle.
class CallHandles {
 public:
  CallHandles(const openaclnn_verify::Description& description, const openaclnn_verify::Arguments& values,
              const PlacedTensors& tensors);
  ~CallHandles();
  CallHandles(const CallHandles&) = delete;
  CallHandles& operator=(const CallHandles&) = delete;

  std::span<void* const> get() const { return handles_; }

 private:
  void destroy();

  const openaclnn_verify::Description& description_;
  std::vector<void*> handles_;
};

}  // namespace openaclnn_judge
