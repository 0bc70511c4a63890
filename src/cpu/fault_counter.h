// Collects the out-of-range positions of an index tensor.
#pragma once

#include <atomic>
#include <cstdint>

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

// The number of out-of-range positions and the lowest of them. The result does not depend on the order of
// threads.
class FaultCounter {
 public:
  // Those of one chunk, added to the others when the chunk ends: if every index is out of range, threads would
  // otherwise pass one cache line around.
  class OfChunk {
   public:
    explicit OfChunk(FaultCounter& all) : all_(all) {}
    OfChunk(const OfChunk&) = delete;
    OfChunk& operator=(const OfChunk&) = delete;
    ~OfChunk() {
      if (count_ > 0) all_.add(count_, lowest_);
    }

    // Positions are added in ascending order.
    void add(int64_t position) {
      if (count_++ == 0) lowest_ = position;
    }

   private:
    FaultCounter& all_;
    int64_t count_ = 0;
    int64_t lowest_ = 0;
  };

  int64_t count() const { return count_.load(std::memory_order_relaxed); }
  int64_t lowest() const { return lowest_.load(std::memory_order_relaxed); }

 private:
  void add(int64_t count, int64_t position) {
    count_.fetch_add(count, std::memory_order_relaxed);
    int64_t lowest = lowest_.load(std::memory_order_relaxed);
    while (position < lowest && !lowest_.compare_exchange_weak(lowest, position, std::memory_order_relaxed)) {
    }
  }

  std::atomic<int64_t> count_{0};
  std::atomic<int64_t> lowest_{INT64_MAX};
};

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
