// The calls behind device.h. Destructors ignore return codes, because nothing can be saved when
// they run.
#include "device.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "errors.h"
#include "matrix.h"

namespace train {
namespace {

constexpr Eigen::Index kConversionBlock = 4096;

// Eigen's conversions round to nearest even and keep subnormals, as the operators do. In parallel:
// without an instruction for it, converting a half takes some ten operations.
template <class Narrow>
std::vector<Narrow> narrowed(std::span<const float> values) {
  std::vector<Narrow> narrow(values.size());
  for_blocks(static_cast<Eigen::Index>(values.size()), kConversionBlock, [&](auto first, auto count) {
    for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(first + count); ++i)
      narrow[i] = Narrow(values[i]);
  });
  return narrow;
}

template <class Narrow>
void widen(const std::vector<Narrow>& narrow, std::span<float> values) {
  for_blocks(static_cast<Eigen::Index>(values.size()), kConversionBlock, [&](auto first, auto count) {
    for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(first + count); ++i)
      values[i] = static_cast<float>(narrow[i]);
  });
}

}  // namespace

void require(int32_t code, const char* function) {
  if (code == 0) return;
  const char* messages = aclGetRecentErrMsg();
  // The newest message comes first; older lines belong to calls that were not checked.
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

IntArray::IntArray(std::span<const int64_t> values)
    : array_(aclCreateIntArray(values.data(), values.size())) {
  if (!array_) require(-1, "aclCreateIntArray");
}
IntArray::~IntArray() { aclDestroyIntArray(array_); }

DeviceTensor::DeviceTensor(std::vector<int64_t> dims, aclDataType dtype)
    : dims_(std::move(dims)), dtype_(dtype), elements_(1) {
  for (const int64_t dim : dims_) elements_ *= dim;
  // At least one byte: a tensor without elements is legal, an empty block is not.
  const auto size_bytes = static_cast<size_t>(std::max<int64_t>(bytes(), 1));
  require(aclrtMalloc(&memory_, size_bytes, ACL_MEM_MALLOC_HUGE_FIRST), "aclrtMalloc");
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

void DeviceTensor::upload(std::span<const float> values, const Stream& stream) {
  const auto send = [&](const auto& narrow) {
    upload_bytes(narrow.data(), narrow.size() * sizeof narrow[0], stream);
  };
  if (dtype_ == ACL_BF16)
    send(narrowed<Eigen::bfloat16>(values));
  else if (dtype_ == ACL_FLOAT16)
    send(narrowed<Eigen::half>(values));
  else
    send(values);
}

void DeviceTensor::upload(std::span<const int64_t> values, const Stream& stream) {
  upload_bytes(values.data(), values.size_bytes(), stream);
}

void DeviceTensor::upload(std::span<const int32_t> values, const Stream& stream) {
  upload_bytes(values.data(), values.size_bytes(), stream);
}

void DeviceTensor::download(std::span<float> values, const Stream& stream) const {
  const auto fetch = [&](auto narrow) {
    download_bytes(narrow.data(), narrow.size() * sizeof narrow[0], stream);
    widen(narrow, values);
  };
  if (dtype_ == ACL_BF16)
    fetch(std::vector<Eigen::bfloat16>(values.size()));
  else if (dtype_ == ACL_FLOAT16)
    fetch(std::vector<Eigen::half>(values.size()));
  else
    download_bytes(values.data(), values.size_bytes(), stream);
}

void DeviceTensor::download(std::span<int64_t> values, const Stream& stream) const {
  download_bytes(values.data(), values.size_bytes(), stream);
}

void DeviceTensor::download(std::span<int32_t> values, const Stream& stream) const {
  download_bytes(values.data(), values.size_bytes(), stream);
}

void DeviceTensor::upload_bytes(const void* values, size_t size_bytes, const Stream& stream) {
  if (size_bytes == 0) return;
  require(aclrtMemcpyAsync(memory_, static_cast<size_t>(bytes()), values, size_bytes,
                           ACL_MEMCPY_HOST_TO_DEVICE, stream.handle()),
          "aclrtMemcpyAsync");
}

void DeviceTensor::download_bytes(void* values, size_t size_bytes, const Stream& stream) const {
  const auto count = static_cast<size_t>(bytes());
  if (count == 0) return;
  require(aclrtMemcpyAsync(values, size_bytes, memory_, count, ACL_MEMCPY_DEVICE_TO_HOST, stream.handle()),
          "aclrtMemcpyAsync");
  stream.synchronize();
}

void DeviceTensor::fill_zero(const Stream& stream) {
  const auto size_bytes = static_cast<size_t>(bytes());
  require(aclrtMemsetAsync(memory_, size_bytes, 0, size_bytes, stream.handle()), "aclrtMemsetAsync");
}

}  // namespace train
