// The calls behind device.h. Destructors ignore return codes: there is nothing left to save when
// they run.
#include "device.h"

#include <fmt/core.h>

#include <string>
#include <utility>

#include "errors.h"

namespace train {

void require(int32_t code, const char* function) {
  if (code == 0) return;
  const char* messages = aclGetRecentErrMsg();
  // The newest message comes first; older lines belong to calls that were not looked at.
  std::string sentence = messages ? messages : "";
  sentence = sentence.substr(0, sentence.find('\n'));
  throw RunError(sentence.empty() ? fmt::format("{} returned {}", function, code) : sentence);
}

Device::Device(int32_t device_id) : device_id_(device_id) {
  require(aclInit(nullptr), "aclInit");
  if (const aclError code = aclrtSetDevice(device_id); code != 0) {
    aclFinalize();
    require(code, "aclrtSetDevice");
  }
}

Device::~Device() {
  aclrtResetDevice(device_id_);
  aclFinalize();
}

Stream::Stream() { require(aclrtCreateStream(&stream_), "aclrtCreateStream"); }
Stream::~Stream() { aclrtDestroyStream(stream_); }
void Stream::synchronize() const { require(aclrtSynchronizeStream(stream_), "aclrtSynchronizeStream"); }

Event::Event() { require(aclrtCreateEvent(&event_), "aclrtCreateEvent"); }
Event::Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
Event::~Event() {
  if (event_) aclrtDestroyEvent(event_);
}
void Event::record(const Stream& stream) const {
  require(aclrtRecordEvent(event_, stream.handle()), "aclrtRecordEvent");
}

double Event::seconds_since(const Event& start) const {
  float milliseconds = 0;
  require(aclrtEventElapsedTime(&milliseconds, start.event_, event_), "aclrtEventElapsedTime");
  return milliseconds * 1e-3;
}

Workspace::~Workspace() {
  if (memory_) aclrtFree(memory_);
}

void* Workspace::reserve(uint64_t bytes) {
  if (bytes > bytes_) {
    // Tasks that still use the old block keep it alive; aclrtFree does not wait for them.
    if (memory_) require(aclrtFree(memory_), "aclrtFree");
    memory_ = nullptr;
    bytes_ = 0;
    require(aclrtMalloc(&memory_, bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
    bytes_ = bytes;
  }
  return bytes == 0 ? nullptr : memory_;
}

DeviceTensor::DeviceTensor(std::vector<int64_t> dims, aclDataType dtype)
    : dims_(std::move(dims)), dtype_(dtype), elements_(1) {
  for (const int64_t dim : dims_) elements_ *= dim;
  require(aclrtMalloc(&memory_, static_cast<size_t>(bytes()), ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
  tensor_ = aclCreateTensor(dims_.data(), dims_.size(), dtype, nullptr, 0, ACL_FORMAT_ND, dims_.data(),
                            dims_.size(), memory_);
  if (!tensor_) {
    aclrtFree(memory_);
    require(-1, "aclCreateTensor");
  }
}

DeviceTensor::~DeviceTensor() {
  aclDestroyTensor(tensor_);
  aclrtFree(memory_);
}

void DeviceTensor::upload_bytes(const void* values, size_t size_bytes, const Stream& stream) {
  require(aclrtMemcpyAsync(memory_, static_cast<size_t>(bytes()), values, size_bytes,
                           ACL_MEMCPY_HOST_TO_DEVICE, stream.handle()),
          "aclrtMemcpyAsync");
}

void DeviceTensor::download_bytes(void* values, size_t size_bytes, const Stream& stream) const {
  const auto count = static_cast<size_t>(bytes());
  require(aclrtMemcpyAsync(values, size_bytes, memory_, count, ACL_MEMCPY_DEVICE_TO_HOST, stream.handle()),
          "aclrtMemcpyAsync");
  stream.synchronize();
}

void DeviceTensor::fill_zero(const Stream& stream) {
  const auto size_bytes = static_cast<size_t>(bytes());
  require(aclrtMemsetAsync(memory_, size_bytes, 0, size_bytes, stream.handle()), "aclrtMemsetAsync");
}

}  // namespace train
