// Collects the out-of-range positions of an index tensor.
#pragma once

#include <atomic>
#include <cstdint>

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

// The number of out-of-range positions and the lowest of them. The result does not depend on the order of
// threads.
class FaultCounter {
 public:
  void add(int64_t position) {
    count_.fetch_add(1, std::memory_order_relaxed);
    int64_t lowest = lowest_.load(std::memory_order_relaxed);
    while (position < lowest && !lowest_.compare_exchange_weak(lowest, position, std::memory_order_relaxed)) {
    }
  }
  int64_t count() const { return count_.load(std::memory_order_relaxed); }
  int64_t lowest() const { return lowest_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> count_{0};
  std::atomic<int64_t> lowest_{INT64_MAX};
};

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
