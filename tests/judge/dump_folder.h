// Writes dumps for tests, in a folder that is deleted at the end.
#pragma once

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/npy_header.h"
#include "files/dtype_names.h"
#include "judge/scratch_folder.h"
#include "verify/array.h"

namespace openaclnn_test {

template <class T>
openaclnn_verify::Array array_of(aclDataType dtype, openaclnn_verify::Shape dims,
                                 const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return openaclnn_verify::owned_array(dtype, std::move(dims), std::move(bytes));
}
inline openaclnn_verify::Array floats(openaclnn_verify::Shape dims, const std::vector<float>& values) {
  return array_of(ACL_FLOAT, std::move(dims), values);
}
inline openaclnn_verify::Array longs(openaclnn_verify::Shape dims, const std::vector<int64_t>& values) {
  return array_of(ACL_INT64, std::move(dims), values);
}

inline std::string npy_bytes(const openaclnn_verify::Array& array) {
  return openaclnn::npy_header(array.dtype, array.dims) +
         std::string(reinterpret_cast<const char*>(array.data.get()), static_cast<size_t>(array.bytes()));
}

// A folder of msprobe with .npy tensors.
class MsprobeFolder {
 public:
  using Json = nlohmann::json;

  explicit MsprobeFolder(std::string inner = "") : inner_(std::move(inner)) {}

  // Writes the file of a tensor and returns its entry.
  Json tensor(const std::string& name, const openaclnn_verify::Array& array) {
    folder.write(inner_ + "dump_tensor_data/" + name, npy_bytes(array));
    return {{"type", "torch.Tensor"},
            {"dtype", openaclnn_files::torch_name(array.dtype)},
            {"shape", array.dims},
            {"data_name", name}};
  }
  static Json number(const Json& value) { return {{"type", "a number"}, {"value", value}}; }

  void add_forward(const std::string& call, Json args, Json kwargs, Json output) {
    data[call + ".forward"] = {
        {"input_args", std::move(args)}, {"input_kwargs", std::move(kwargs)}, {"output", std::move(output)}};
  }
  void add_backward(const std::string& call, Json input, Json output) {
    data[call + ".backward"] = {{"input", std::move(input)}, {"output", std::move(output)}};
  }
  // Writes dump.json.
  void write(const std::string& task = "tensor") {
    folder.write(inner_ + "dump.json", Json{{"task", task}, {"level", "L1"}, {"data", data}}.dump());
  }
  const std::string& path() const { return folder.path(); }

  ScratchFolder folder;
  Json data = Json::object();

 private:
  std::string inner_;  // "step0/rank0/", or empty
};

}  // namespace openaclnn_test
