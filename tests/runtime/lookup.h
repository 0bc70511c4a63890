// A call of Embedding with indices that the test chooses, for tests in which a kernel must find a fault.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "aclnnop/aclnn_embedding.h"
#include "runtime/runtime_test.h"

namespace runtime_test {

// aclnnEmbedding over a table of ten one-element rows. Indices outside [0, 10) are FAULTs that a kernel
// finds.
class Lookup {
 public:
  explicit Lookup(std::vector<int64_t> indices) : indices_(std::move(indices)), out_(indices_.size(), -1.0f) {
    const auto count = static_cast<int64_t>(indices_.size());
    tensors_ = {make_tensor({10, 1}, ACL_FLOAT, weight_), make_tensor({count}, ACL_INT64, indices_.data()),
                make_tensor({count, 1}, ACL_FLOAT, out_.data())};
  }
  ~Lookup() {
    for (const aclTensor* tensor : tensors_) (void)aclDestroyTensor(tensor);
  }
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

  int enqueue(aclrtStream stream) {
    uint64_t workspace_bytes = 0;
    aclOpExecutor* executor = nullptr;
    const int code =
        aclnnEmbeddingGetWorkspaceSize(tensors_[0], tensors_[1], tensors_[2], &workspace_bytes, &executor);
    if (code != 0) return code;
    if (workspace_.size() < workspace_bytes) workspace_.resize(workspace_bytes);  // none on the CPU
    return aclnnEmbedding(workspace_.data(), workspace_bytes, executor, stream);
  }
  const std::vector<float>& out() const { return out_; }

 private:
  float weight_[10] = {0, 10, 20, 30, 40, 50, 60, 70, 80, 90};
  std::vector<int64_t> indices_;
  std::vector<float> out_;
  std::vector<char> workspace_;
  std::vector<aclTensor*> tensors_;
};

}  // namespace runtime_test
