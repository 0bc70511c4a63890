// EmbeddingDenseBackward: what phase 2 refuses: workspaces, addresses and overlaps. Nothing is written then.
#include <gtest/gtest.h>

#include "ops/embedding_dense_backward/call_cases.h"

namespace openaclnn_test {
namespace {

constexpr int kNull = 161001;
constexpr int kInvalid = 161002;

BackwardCall filled_call(DtypePair dtypes = {ACL_FLOAT, ACL_FLOAT}) {
  BackwardCall call(dtypes, ACL_INT64, {64}, 8, {.table_rows = 64});
  Random random(test_seed());
  call.fill(random);
  for (int k = 0; k < kBackwardTensors; ++k) call[k].remember();
  return call;
}

void expect_untouched(const BackwardCall& call, const Outcome& outcome, int code,
                      const std::vector<std::string>& parts) {
  EXPECT_TRUE(failed_in_phase2(outcome, kBackwardPhase2, code, parts));
  for (int k = 0; k < kBackwardTensors; ++k)
    EXPECT_TRUE(call[k].unchanged()) << kBackwardNames[k] << " was written to";
}

HostTensor placed(const HostTensor& tensor, const HostTensor& memory, int64_t bytes) {
  return HostTensor(tensor.dtype(), tensor.dims(), tensor.view(), memory,
                    static_cast<std::byte*>(memory.data()) + bytes);
}
HostTensor nowhere(const HostTensor& tensor) {
  return HostTensor(tensor.dtype(), tensor.dims(), tensor.view(), tensor, nullptr);
}

// Phase 1 of a call, and a phase 2 with any workspace.
struct Planned {
  explicit Planned(const BackwardCall& call) {
    use_device();
    const Descriptor grad = call[kGrad].describe(), indices = call[kIndices].describe(),
                     out = call[kOut].describe();
    aclTensor* const handles[] = {grad.get(), indices.get(), out.get()};
    EXPECT_EQ(backward_phase1(call.attributes())(handles, &workspace_bytes, &executor), 0)
        << take_error_text();
  }
  Outcome run(void* workspace, uint64_t bytes) const {
    Outcome outcome;
    outcome.phase1 = 0;
    outcome.workspace_bytes = workspace_bytes;
    outcome.phase2 = aclnnEmbeddingDenseBackward(workspace, bytes, executor, nullptr);
    if (outcome.phase2 == 0) outcome.sync = aclrtSynchronizeStream(nullptr);
    outcome.error = take_error_text();
    return outcome;
  }
  uint64_t workspace_bytes = 0;
  aclOpExecutor* executor = nullptr;
};

TEST(EmbeddingBackwardPhase2, RefusesAMissingWorkspace) {
  const BackwardCall call = filled_call();
  const Planned planned(call);
  ASSERT_GT(planned.workspace_bytes, 0u);
  expect_untouched(call, planned.run(nullptr, planned.workspace_bytes), kNull,
                   {"workspace is NULL", std::to_string(planned.workspace_bytes) + " bytes"});
  // That consumed the executor.
  expect_untouched(call, planned.run(nullptr, 0), 561000, {"executor is not live"});
  // NULL is found before the size.
  expect_untouched(call, Planned(call).run(nullptr, 0), kNull, {"workspace is NULL"});
}

TEST(EmbeddingBackwardPhase2, RefusesASmallWorkspace) {
  const BackwardCall call = filled_call();
  const uint64_t needed = Planned(call).workspace_bytes;
  const GuardedBuffer memory(needed);
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, needed / 2, needed - 1}) {
    expect_untouched(call, Planned(call).run(memory.data(), bytes), kInvalid,
                     {"workspaceSize is " + std::to_string(bytes), std::to_string(needed) + " bytes"});
  }
  EXPECT_TRUE(succeeded(Planned(call).run(memory.data(), needed)));
  EXPECT_TRUE(succeeded(Planned(call).run(memory.data(), UINT64_MAX))) << "the rest is not touched";
  EXPECT_TRUE(call.same_bits(call.expected()));
  EXPECT_TRUE(memory.margins_intact());
}

TEST(EmbeddingBackwardPhase2, RefusesNullData) {
  for (int k = 0; k < kBackwardTensors; ++k) {
    const BackwardCall call = filled_call();
    BackwardCall spoiled = call;
    // NULL is found before misalignment, and before a later NULL.
    for (int other = 0; other < kBackwardTensors; ++other) {
      spoiled.replace(other, other < k ? placed(call[other], call[other], 1) : nowhere(call[other]));
    }
    expect_untouched(call, spoiled.run(), kNull,
                     {std::string(kBackwardNames[k]) + " has a NULL data address"});
  }
}

TEST(EmbeddingBackwardPhase2, RefusesMisalignedData) {
  for (const DtypePair& dtypes : dtype_pairs()) {
    for (int k = 0; k < kBackwardTensors; ++k) {
      const BackwardCall call = filled_call(dtypes);
      for (int64_t bytes = 1; bytes < element_bytes(call[k].dtype()); ++bytes) {
        BackwardCall spoiled = call;
        spoiled.replace(k, placed(call[k], call[k], bytes));
        expect_untouched(call, spoiled.run(), kInvalid, {kBackwardNames[k], "not a multiple of"});
      }
    }
  }
}

TEST(EmbeddingBackwardPhase2, RefusesAnOutputOverAnInput) {
  for (const int input : {kGrad, kIndices}) {
    const BackwardCall call = filled_call();
    const int64_t input_bytes = call[input].numel() * element_bytes(call[input].dtype());
    const int64_t out_bytes = call[kOut].numel() * 4;
    for (const int64_t distance : {int64_t{0}, int64_t{8}, int64_t{-8}, input_bytes - 4, 4 - out_bytes}) {
      BackwardCall spoiled = call;
      spoiled.replace(kOut, placed(call[kOut], call[input], distance));
      expect_untouched(call, spoiled.run(), kInvalid,
                       {std::string("out overlaps ") + kBackwardNames[input], "must not share memory"});
    }
  }
  // Not even the identical view, dense or not.
  for (const Layout layout : {Layout::contiguous, Layout::transposed, Layout::padded, Layout::strided}) {
    BackwardCall call({ACL_FLOAT, ACL_FLOAT}, ACL_INT64, {64}, 8, {.table_rows = 64}, {.grad = layout});
    Random random(test_seed());
    call.fill(random);
    for (int k = 0; k < kBackwardTensors; ++k) call[k].remember();
    BackwardCall spoiled = call;
    spoiled.replace(kOut, call[kGrad].alias());
    expect_untouched(call, spoiled.run(), kInvalid, {"out overlaps grad"});
  }
}

TEST(EmbeddingBackwardPhase2, RefusesAWorkspaceOverATensor) {
  for (int k = 0; k < kBackwardTensors; ++k) {
    const BackwardCall call = filled_call();
    const int64_t tensor_bytes = call[k].numel() * element_bytes(call[k].dtype());
    const int64_t needed = static_cast<int64_t>(Planned(call).workspace_bytes);
    for (const int64_t distance : {int64_t{0}, int64_t{3}, tensor_bytes - 1, 1 - needed}) {
      std::byte* const workspace = static_cast<std::byte*>(call[k].data()) + distance;
      expect_untouched(call, Planned(call).run(workspace, static_cast<uint64_t>(needed)), kInvalid,
                       {std::string("workspace overlaps ") + kBackwardNames[k], "must not share memory"});
    }
  }
}

// The workspace may end where a tensor begins, and more of it may be offered than is needed.
TEST(EmbeddingBackwardPhase2, AcceptsNeighbours) {
  BackwardCall call = filled_call();
  const int64_t needed = static_cast<int64_t>(Planned(call).workspace_bytes);
  const int64_t grad_bytes = 64 * 8 * 4, out_bytes = 64 * 8 * 4, index_bytes = 64 * 8;
  const HostTensor memory(ACL_INT8, {grad_bytes + out_bytes + needed + index_bytes});
  call.replace(kGrad, placed(call[kGrad], memory, 0));
  call.replace(kOut, placed(call[kOut], memory, grad_bytes));
  call.replace(kIndices, placed(call[kIndices], memory, grad_bytes + out_bytes + needed));
  Random random(test_seed());
  call.fill(random);
  const std::vector<uint64_t> wanted = call.expected();
  std::byte* const workspace = static_cast<std::byte*>(memory.data()) + grad_bytes + out_bytes;
  EXPECT_TRUE(succeeded(Planned(call).run(workspace, static_cast<uint64_t>(needed + index_bytes))));
  EXPECT_TRUE(call.same_bits(wanted));
}

}  // namespace
}  // namespace openaclnn_test
