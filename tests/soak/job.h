// A case that is called repeatedly on any stream: its tensors are restored before each call, and must
// always end with the same bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "support/verify.h"
#include "verify/case.h"
#include "verify/number.h"

namespace openaclnn_test {

// Handles of a job's tensors, for one phase 1.
class JobHandles {
 public:
  explicit JobHandles(const std::vector<HostTensor>& tensors) {
    for (const HostTensor& tensor : tensors) descriptors_.push_back(tensor.describe());
    for (const Descriptor& descriptor : descriptors_) handles_.push_back(descriptor.get());
  }
  Handles get() const { return handles_; }
  void replace(size_t which, aclTensor* handle) { handles_[which] = handle; }
  size_t size() const { return handles_.size(); }

 private:
  std::vector<Descriptor> descriptors_;
  std::vector<aclTensor*> handles_;
};

class Job {
 public:
  // Runs the case once, on the default stream. The previous contents of its tensors are kept in memory of
  // aclrtMalloc, or in the program's own memory, which the library must read before a copy returns.
  Job(const Case& c, Placement kept) : case_(c), tensors_(make_tensors(c)), kept_(kept) {
    for (size_t k = 0; k < tensors_.size(); ++k) {
      if (case_.tensors[k].role != Role::input && tensors_[k].numel() > 0)
        restored_.push_back(span_of(tensors_[k]));
    }
    for (const Span& span : restored_) {
      initial_.push_back(std::make_unique<GuardedBuffer>(span.bytes, kept));
      std::memcpy(initial_.back()->data(), span.data, span.bytes);
    }
    works_ = run_case(case_, tensors_).ok();
    for (const Span& span : restored_) results_.emplace_back(span.data, span.data + span.bytes);
    for (HostTensor& tensor : tensors_) tensor.remember();
  }

  bool works() const { return works_; }
  const Case& description() const { return case_; }
  const std::vector<HostTensor>& tensors() const { return tensors_; }

  // Bytes that a call and its copies move.
  static int64_t bytes_of(const Case& c) {
    int64_t bytes = 0;
    for (const TensorCase& tensor : c.tensors)
      bytes += count_elements(tensor.dims) * element_bytes(tensor.dtype);
    return bytes;
  }

  // Queues copies that undo an earlier call.
  aclError restore(aclrtStream stream) const {
    const aclrtMemcpyKind kind =
        kept_ == Placement::library ? ACL_MEMCPY_DEVICE_TO_DEVICE : ACL_MEMCPY_HOST_TO_DEVICE;
    for (size_t k = 0; k < restored_.size(); ++k) {
      const Span& span = restored_[k];
      const aclError code =
          aclrtMemcpyAsync(span.data, span.bytes, initial_[k]->data(), span.bytes, kind, stream);
      if (code != 0) return code;
    }
    return 0;
  }

  // Call this after the stream was synchronised. Every byte of every output must equal that after the first
  // call. With `thoroughly`, this includes inputs and the bytes around all tensors, which are many more.
  bool ended_as_first(bool thoroughly) const {
    for (size_t k = 0; k < restored_.size(); ++k) {
      if (std::memcmp(restored_[k].data, results_[k].data(), restored_[k].bytes) != 0) return false;
    }
    return !thoroughly || std::all_of(tensors_.begin(), tensors_.end(),
                                      [](const HostTensor& tensor) { return tensor.unchanged(); });
  }

 private:
  struct Span {
    std::byte* data;
    size_t bytes;
  };
  // From the lowest element to the end of the highest.
  static Span span_of(const HostTensor& tensor) {
    std::byte *low = tensor.element(0), *high = low;
    for (int64_t i = 1; i < tensor.numel(); ++i) {
      low = std::min(low, tensor.element(i));
      high = std::max(high, tensor.element(i));
    }
    return {low, static_cast<size_t>(high - low + element_bytes(tensor.dtype()))};
  }

  Case case_;
  std::vector<HostTensor> tensors_;
  std::vector<Span> restored_;
  std::vector<std::unique_ptr<GuardedBuffer>> initial_;
  std::vector<std::vector<std::byte>> results_;
  Placement kept_;
  bool works_ = false;
};

}  // namespace openaclnn_test
