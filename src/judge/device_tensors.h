// The tensors of one call in device memory, and the call through the C API.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "judge/call.h"
#include "judge/device_call.h"

namespace openaclnn_judge {

class DeviceTensors {
 public:
  DeviceTensors(const openaclnn_verify::Description& description, const openaclnn_verify::Arguments& values);

  // Copies the arrays of a parameter. The memory of arrays without data is zero.
  void add(const std::string& parameter, std::vector<Array> arrays);
  // Runs the operator and waits. Returns the error message of bad data; empty: none. Throws std::invalid_argument with the library's
  // error message if it rejects the arguments.
  std::string run();
  std::vector<Array> copy_back(const std::string& parameter) const;

 private:
  struct Tensor {
    Array array;
    std::unique_ptr<DeviceMemory> memory;
  };

  const openaclnn_verify::Description& description_;
  const openaclnn_verify::Arguments& values_;
  std::map<std::string, std::vector<Tensor>> tensors_;
};

}  // namespace openaclnn_judge
