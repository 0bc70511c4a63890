// Tests operators that use a second stream for a part of their work: results, CUDA graphs, and failures of
// the driver at any point.
#include <vector>

#include "aclnnop/aclnn_embedding_dense_backward.h"
#include "cuda/native_stream.h"
#include "runtime/runtime_test.h"

namespace {

using namespace cuda_test;
using namespace runtime_test;

// aclnnEmbeddingDenseBackward for a table so large that its unused rows are cleared beside the sort. Only
// every seventh row has terms, three each.
class LargeTable {
 public:
  explicit LargeTable(aclrtStream stream) : stream_(stream) {
    for (int64_t i = 0; i < kTerms; ++i) indices_.push_back(i % (kTerms / 3) * 7);
    tensors_ = {make_tensor({kTerms, kColumns}, ACL_FLOAT, grad_.data()),
                make_tensor({kTerms}, ACL_INT64, indices_.data()),
                make_tensor({kRows, kColumns}, ACL_FLOAT, out_.data())};
    uint64_t bytes = 0;
    expect(0, aclnnEmbeddingDenseBackwardGetWorkspaceSize(tensors_[0], tensors_[1], kRows, UINT64_MAX, false,
                                                          tensors_[2], &bytes, &executor_));
    expect(0, aclSetAclOpExecutorRepeatable(executor_));
    workspace_.resize(bytes);
  }
  ~LargeTable() {
    expect(0, aclDestroyAclOpExecutor(executor_));
    for (const aclTensor* tensor : tensors_) (void)aclDestroyTensor(tensor);
  }
  LargeTable(const LargeTable&) = delete;
  LargeTable& operator=(const LargeTable&) = delete;

  int enqueue() {
    return aclnnEmbeddingDenseBackward(workspace_.data(), workspace_.size(), executor_, stream_);
  }
  // Changes the gradient, so that a result must be of the latest run.
  void set(float grad) {
    grad_.assign(grad_.size(), grad);
    out_.assign(out_.size(), -1.0f);
  }
  // The row of the first element that is wrong, or -1.
  int64_t wrong_row(float grad) const {
    for (int64_t i = 0; i < kRows * kColumns; ++i) {
      const int64_t row = i / kColumns;
      const float wanted = row % 7 == 0 && row < kTerms / 3 * 7 ? 3 * grad : 0.0f;
      if (out_[static_cast<size_t>(i)] != wanted) return row;
    }
    return -1;
  }

 private:
  static constexpr int64_t kRows = 8200, kColumns = 256, kTerms = 300;

  aclrtStream stream_;
  std::vector<int64_t> indices_;
  std::vector<float> grad_ = std::vector<float>(kTerms * kColumns, 1.0f);
  std::vector<float> out_ = std::vector<float>(kRows * kColumns, -1.0f);
  std::vector<char> workspace_;
  std::vector<aclTensor*> tensors_;
  aclOpExecutor* executor_ = nullptr;
};

class SideStreams : public NativeStreamTest {};

TEST_F(SideStreams, EndBeforeTheLaterWorkOfTheStream) {
  for (aclrtStream used : {stream, wrapped}) {
    LargeTable table(used);
    for (const float grad : {1.0f, 2.5f}) {
      table.set(grad);
      fake("slow=2000");
      expect(0, table.enqueue());
      expect(0, aclrtSynchronizeStream(used));
      EXPECT_EQ(table.wrong_row(grad), -1);
    }
    fake("");
  }
}

TEST_F(SideStreams, BecomeBranchesOfAGraph) {
  LargeTable table(wrapped);
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaStreamBeginCapture)(native, cudaStreamCaptureModeGlobal), cudaSuccess);
  expect(0, table.enqueue());
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaStreamEndCapture)(native, &graph), cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaGraphInstantiate)(&exec, graph, 0), cudaSuccess);
  for (const float grad : {3.0f, 0.5f}) {
    table.set(grad);
    ASSERT_EQ(OPENACLNN_CUDA_API(cudaGraphLaunch)(exec, native), cudaSuccess);
    expect(0, aclrtSynchronizeStream(wrapped));
    EXPECT_EQ(table.wrong_row(grad), -1) << "replay";
    table.set(2 * grad);
    expect(0, table.enqueue());
    expect(0, aclrtSynchronizeStream(wrapped));
    EXPECT_EQ(table.wrong_row(2 * grad), -1) << "after a replay";
  }
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaGraphExecDestroy)(exec), cudaSuccess);
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaGraphDestroy)(graph), cudaSuccess);
}

// The side stream's own creation may fail without consequence, other calls with an error. Either way nothing
// still runs after the wait, and the next call works.
TEST_F(SideStreams, SurviveAFailureOfAnyCall) {
  // ThreadSanitizer takes seconds for a call, so it sees a third of them.
  constexpr int kEvery = kThreadSanitizer ? 3 : 1;
  int refused = 0, accepted = 0;
  for (unsigned long call = 1; refused + accepted < 100; call += kEvery) {
    SCOPED_TRACE(call);
    aclrtStream fresh = nullptr;
    expect(0, aclrtCreateStream(&fresh));
    {
      LargeTable table(fresh);
      table.set(1.0f);
      fake("");
      fake(("fail=any:" + std::to_string(call) + ":2").c_str());
      const int code = table.enqueue();
      const unsigned long calls = fake("");
      if (call > calls) {
        expect(0, code);
        expect(0, aclrtSynchronizeStream(fresh));
        expect(0, aclrtDestroyStream(fresh));
        break;
      }
      (void)aclGetRecentErrMsg();
      (code == 0 ? accepted : refused)++;
      EXPECT_TRUE(code == 0 || code == 361001) << code;
      expect(0, aclrtSynchronizeStream(fresh));
      EXPECT_TRUE(code != 0 || table.wrong_row(1.0f) == -1);
      table.set(4.0f);
      expect(0, table.enqueue());
      expect(0, aclrtSynchronizeStream(fresh));
      EXPECT_EQ(table.wrong_row(4.0f), -1) << "after the failure";
    }
    expect(0, aclrtDestroyStream(fresh));
  }
  EXPECT_GE(accepted, 4 / kEvery) << "the stream, its events and the priorities";
  EXPECT_GT(refused, 8 / kEvery);
}

}  // namespace
