// Runs the library with an acl.json that asks for dumps, and reads the files that it writes.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "aclnn/aclnn_base.h"
#include "judge/scratch_folder.h"
#include "runtime/runtime_test.h"

namespace runtime_test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

// A .npy file as NumPy's documentation describes version 1.
inline std::string npy(const std::string& type, const std::string& shape, const void* elements,
                       size_t bytes) {
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  const auto size = static_cast<uint16_t>(header.size());
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(size & 0xFF);
  file += static_cast<char>(size >> 8);
  return file + header + std::string(static_cast<const char*>(elements), bytes);
}

class DumpTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    dump_path = scratch.path("dump");
  }
  void TearDown() override {
    finish();
    expect(0, aclrtSetDevice(0));
    RuntimeTest::TearDown();
  }

  // Calls aclInit with these members of the section "dump". $ stands for the quoted path of a folder.
  int start(std::string members) {
    for (size_t at = members.find('$'); at != std::string::npos; at = members.find('$'))
      members.replace(at, 1, '"' + dump_path + '"');
    config = scratch.path("acl.json");
    scratch.write("acl.json", "{\"dump\": {" + members + "}}");
    const int code = aclInit(config.c_str());
    is_started = code == 0;
    if (is_started) {  // aclFinalize releases the stream
      expect(0, aclrtDestroyStream(stream));
      stream = nullptr;
      expect(0, aclrtCreateStream(&stream));
    }
    return code;
  }
  void start_all() { expect(0, start(R"("dump_path": $, "dump_mode": "all", "dump_op_switch": "on")")); }
  // Waits for the dumps.
  void finish() {
    if (!is_started) return;
    is_started = false;
    expect(0, aclFinalize());
    stream = nullptr;
  }
  std::filesystem::path folder(int step = 0) const {
    return std::filesystem::path(dump_path) / ("step" + std::to_string(step)) /
           ("proc" + std::to_string(getpid()));
  }
  std::string dump_json(int step = 0) const { return read_file(folder(step) / "dump.json"); }
  std::string head(int step = 0) const {
    return R"({"task":"tensor","level":"L1","framework":"pytorch","dump_data_dir":")" +
           (folder(step) / "dump_tensor_data").string() + R"(","data":{)";
  }
  std::string tensor_file(const std::string& name, int step = 0) const {
    return read_file(folder(step) / "dump_tensor_data" / name);
  }
  // The names of the tensors' files, without the folder.
  std::set<std::string> tensor_files(int step = 0) const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder(step) / "dump_tensor_data"))
      names.insert(entry.path().filename());
    return names;
  }
  int dump(std::vector<aclTensor*> inputs, const std::vector<aclTensor*>& outputs, const char* type = "Add",
           const char* name = "") {
    const size_t count = inputs.size();
    inputs.insert(inputs.end(), outputs.begin(), outputs.end());
    return aclDumpOpTensors(type, name, inputs.data(), count, outputs.size(), stream);
  }

  openaclnn_test::ScratchFolder scratch;
  std::string dump_path, config;
  bool is_started = false;
};

}  // namespace runtime_test
