// The parts of the aclnn C interface that a host program needs, as objects that release themselves.
// The code never assumes that the host can read device memory: data moves only by aclrtMemcpyAsync,
// as on an NPU or a GPU.
#pragma once

#include <acl/acl.h>
#include <aclnn/acl_meta.h>

#include <cstdint>
#include <span>
#include <vector>

namespace train {

// Throws RunError with the library's error message unless `code` is 0.
void require(int32_t code, const char* function);

// Initialises the library and makes `device_id` current on this thread; the destructor undoes both.
// Destroy every other object of this file before it.
class Device {
 public:
  explicit Device(int32_t device_id);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

 private:
  int32_t device_id_;
};

class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  aclrtStream handle() const { return stream_; }
  // Waits for everything enqueued so far. An operator's fault in its data (an index out of range)
  // is reported here.
  void synchronize() const;

 private:
  aclrtStream stream_ = nullptr;
};

// A moment in a stream's order of work.
class Event {
 public:
  Event();
  ~Event();
  Event(Event&& other) noexcept;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  Event& operator=(Event&&) = delete;

  void record(const Stream& stream) const;
  // Seconds from `start` to this event; both must have been recorded and reached.
  double seconds_since(const Event& start) const;

 private:
  aclrtEvent event_ = nullptr;
};

// A block of device memory that only grows: the scratch space of operators that run one after the
// other on one stream.
class Workspace {
 public:
  Workspace() = default;
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // At least `bytes` bytes; NULL for 0 bytes, which operators without scratch accept.
  void* reserve(uint64_t bytes);

 private:
  void* memory_ = nullptr;
  uint64_t bytes_ = 0;
};

// A list of lengths for an operator, which copies it in its first phase.
class IntArray {
 public:
  explicit IntArray(std::span<const int64_t> values);
  ~IntArray();
  IntArray(const IntArray&) = delete;
  IntArray& operator=(const IntArray&) = delete;

  aclIntArray* handle() const { return array_; }

 private:
  aclIntArray* array_;
};

// A contiguous tensor with its own device memory. Contents are undefined until written.
class DeviceTensor {
 public:
  DeviceTensor(std::vector<int64_t> dims, aclDataType dtype);
  ~DeviceTensor();
  DeviceTensor(const DeviceTensor&) = delete;
  DeviceTensor& operator=(const DeviceTensor&) = delete;

  aclTensor* handle() const { return tensor_; }
  int64_t dim(size_t axis) const { return dims_[axis]; }
  const std::vector<int64_t>& dims() const { return dims_; }
  aclDataType dtype() const { return dtype_; }
  int64_t elements() const { return elements_; }
  int64_t bytes() const { return elements_ * static_cast<int64_t>(aclDataTypeSize(dtype_)); }

  // Enqueues the copy; `values` may be reused at once. Floats are rounded to nearest even on the way
  // into a 16-bit tensor.
  void upload(std::span<const float> values, const Stream& stream);
  void upload(std::span<const int64_t> values, const Stream& stream);
  void upload(std::span<const int32_t> values, const Stream& stream);
  // Waits for the stream, then `values` holds the tensor, 16-bit elements widened exactly.
  void download(std::span<float> values, const Stream& stream) const;
  void download(std::span<int64_t> values, const Stream& stream) const;
  void download(std::span<int32_t> values, const Stream& stream) const;
  void fill_zero(const Stream& stream);

 private:
  void upload_bytes(const void* values, size_t size_bytes, const Stream& stream);
  void download_bytes(void* values, size_t size_bytes, const Stream& stream) const;

  std::vector<int64_t> dims_;
  aclDataType dtype_;
  int64_t elements_;
  void* memory_ = nullptr;
  aclTensor* tensor_ = nullptr;
};

}  // namespace train
