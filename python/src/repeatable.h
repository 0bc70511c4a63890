// Parts of calls that are repeated: the layouts of their arrays, and an executor that runs any number of times.
#pragma once

#include <cstdint>
#include <vector>

#include "call.h"

namespace openaclnn::python {

// Dtype, shape and strides of tensors in the order of their descriptions, in as few cache lines as possible.
class Layouts {
 public:
  void clear() { numbers_.clear(); }

  void add(const Array& array) {
    numbers_.push_back(head(array));
    for (int k = 0; k < array.rank; ++k) {
      numbers_.push_back(array.dims[k]);
      numbers_.push_back(array.strides[k]);
    }
  }

  // Returns whether the array equals the one at `position`, and moves the position behind that one.
  bool matches(const Array& array, size_t& position) const {
    if (position >= numbers_.size() || numbers_[position++] != head(array)) return false;
    for (int k = 0; k < array.rank; ++k) {
      if (numbers_[position++] != array.dims[k] || numbers_[position++] != array.strides[k]) return false;
    }
    return true;
  }

 private:
  static int64_t head(const Array& array) { return int64_t{array.dtype} << 8 | array.rank; }

  std::vector<int64_t> numbers_;
};

// An executor of phase 1 that runs any number of times.
class RepeatableExecutor {
 public:
  ~RepeatableExecutor() { reset(); }
  RepeatableExecutor() = default;
  RepeatableExecutor(const RepeatableExecutor&) = delete;

  void reset() {
    if (prepared_.executor == nullptr) return;
    // The runtime may have ended: then there is nothing to destroy.
    if (aclDestroyAclOpExecutor(prepared_.executor) != 0) (void)aclGetRecentErrMsg();
    prepared_ = {};
  }
  bool is_valid() const { return prepared_.executor != nullptr; }
  const Prepared& get() const { return prepared_; }

  template <class Phase1>
  int prepare(Phase1&& phase1) {
    reset();
    const int code = phase1(&prepared_.workspace_bytes, &prepared_.executor);
    if (code != 0) {
      prepared_ = {};
      return code;
    }
    return aclSetAclOpExecutorRepeatable(prepared_.executor);
  }

 private:
  Prepared prepared_;
};

}  // namespace openaclnn::python
