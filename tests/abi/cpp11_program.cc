// A C++11 program that includes only the two headers that a port needs and takes one AdamW step.
//
// The expected numbers were computed by hand. Without bias correction every step gives the same result.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/aclnn_apply_fused_ema_adam.h"

namespace {

void require(const char* what, int status) {
  if (status == ACL_SUCCESS) return;
  const char* message = aclGetRecentErrMsg();
  std::fprintf(stderr, "%s: %d\n%s\n", what, status, message != nullptr ? message : "(no message)");
  std::exit(1);
}

// A block of device memory and the tensor that describes the whole block.
class DeviceTensor {
 public:
  template <class T>
  DeviceTensor(const std::vector<T>& host, aclDataType dtype) : bytes_(host.size() * sizeof(T)) {
    const int64_t shape[] = {static_cast<int64_t>(host.size())};
    require("aclrtMalloc", aclrtMalloc(&data_, bytes_, aclrtMemMallocPolicy::ACL_MEM_MALLOC_HUGE_FIRST));
    require("aclrtMemcpy", aclrtMemcpy(data_, bytes_, host.data(), bytes_, ACL_MEMCPY_HOST_TO_DEVICE));
    tensor_ = aclCreateTensor(shape, 1, dtype, nullptr, 0, aclFormat::ACL_FORMAT_ND, shape, 1, data_);
  }
  DeviceTensor(const DeviceTensor&) = delete;
  DeviceTensor& operator=(const DeviceTensor&) = delete;
  ~DeviceTensor() {
    aclDestroyTensor(tensor_);
    aclrtFree(data_);
  }

  aclTensor* get() const { return tensor_; }

  bool equals(const char* name, const std::vector<uint32_t>& expected) const {
    std::vector<uint32_t> bits(bytes_ / sizeof(uint32_t));
    require("aclrtMemcpy", aclrtMemcpy(bits.data(), bytes_, data_, bytes_, ACL_MEMCPY_DEVICE_TO_HOST));
    std::printf("%-4s", name);
    for (uint32_t element : bits) {
      float value;
      std::memcpy(&value, &element, sizeof value);
      std::printf("  %.9g (%08x)", static_cast<double>(value), static_cast<unsigned>(element));
    }
    std::printf("  %s\n", bits == expected ? "ok" : "WRONG");
    return bits == expected;
  }

 private:
  size_t bytes_;
  void* data_ = nullptr;
  aclTensor* tensor_ = nullptr;
};

bool run(aclrtStream stream) {
  DeviceTensor grad(std::vector<float>{0.5f, -1.25f, 2.0f, -0.03125f}, aclDataType::ACL_FLOAT);
  DeviceTensor var(std::vector<float>{1.0f, -2.0f, 0.5f, 3.0f}, aclDataType::ACL_FLOAT);
  DeviceTensor m(std::vector<float>{0.25f, 0.5f, -1.0f, 0.0f}, aclDataType::ACL_FLOAT);
  DeviceTensor v(std::vector<float>{0.5f, 0.0625f, 4.0f, 0.0f}, aclDataType::ACL_FLOAT);
  DeviceTensor s(std::vector<float>{1.0f, -1.5f, 0.25f, 3.5f}, aclDataType::ACL_FLOAT);
  DeviceTensor step(std::vector<int64_t>{3}, aclDataType::ACL_INT64);

  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
  aclnnStatus status = aclnnApplyFusedEmaAdamGetWorkspaceSize(
      grad.get(), var.get(), m.get(), v.get(), s.get(), step.get(), 0.01, 0.75, 0.9, 0.99, 1e-8, 1, false,
      0.25, &workspace_bytes, &executor);
  require("aclnnApplyFusedEmaAdamGetWorkspaceSize", status);
  void* workspace = nullptr;
  if (workspace_bytes > 0) {
    require("aclrtMalloc", aclrtMalloc(&workspace, workspace_bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  }
  require("aclnnApplyFusedEmaAdam", aclnnApplyFusedEmaAdam(workspace, workspace_bytes, executor, stream));
  require("aclrtSynchronizeStream", aclrtSynchronizeStream(stream));
  if (workspace != nullptr) require("aclrtFree", aclrtFree(workspace));

  bool good = var.equals("var", {0x3f7e5ca5u, 0xc0006d5au, 0x3f009375u, 0x404028f6u});
  good &= m.equals("m", {0x3e8ccccdu, 0x3ea66666u, 0xbf333333u, 0xbb4ccccdu});
  good &= v.equals("v", {0x3efeb852u, 0x3d9eb852u, 0x40800000u, 0x3723d70au});
  good &= s.equals("s", {0x3f7f9729u, 0xbfd036adu, 0x3ea049bau, 0x40580a3eu});
  return good;
}

}  // namespace

int main() {
  static_assert(OK == 0, "OK is a constant expression in C++");
  require("aclInit", aclInit(nullptr));
  require("aclrtSetDevice", aclrtSetDevice(0));
  aclrtStream stream = nullptr;
  require("aclrtCreateStream", aclrtCreateStream(&stream));
  const bool good = run(stream);
  require("aclrtDestroyStream", aclrtDestroyStream(stream));
  require("aclrtResetDevice", aclrtResetDevice(0));
  require("aclFinalize", aclFinalize());
  std::printf("%s\n", good ? "ok" : "FAILED");
  return good ? 0 : 1;
}
