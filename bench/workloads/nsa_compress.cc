// NsaCompress and its gradient: the tokens read once; the gradient writes as many again.
#include "aclnnop/aclnn_nsa_compress.h"

#include "aclnnop/aclnn_nsa_compress_grad.h"
#include "traffic.h"
#include "workload.h"

namespace openaclnn_bench {

namespace {

struct Windows {
  int64_t block, stride;
};
Windows windows_of(const Description& d) { return {d.shape[3].second, d.shape[4].second}; }

char* any_layout() {
  static char layout[] = "TND";
  return layout;
}

enum { kInput, kWeight, kOutput };

class NsaCompress final : public Workload {
 public:
  explicit NsaCompress(const Description& d) : Workload(d), windows_(windows_of(d)) {
    tensor(kInput).fill(-1, 1);
    tensor(kWeight).fill(-1, 1);
  }

  void call() override {
    caller_(
        [&](uint64_t* bytes, aclOpExecutor** executor) {
          return aclnnNsaCompressGetWorkspaceSize(handle(kInput), handle(kWeight), nullptr, any_layout(),
                                                  windows_.block, windows_.stride, 0, handle(kOutput), bytes,
                                                  executor);
        },
        aclnnNsaCompress);
  }

  double run_reference(Team& team, int calls) override {
    return team.run(calls, [&](int thread) {
      const Part in = part_of(tensor(kInput).bytes(), thread, team.threads());
      const Part out = part_of(tensor(kOutput).bytes(), thread, team.threads());
      seen_[static_cast<size_t>(thread) * 8] +=
          traffic_kernels().read(tensor(kInput).data() + in.begin, in.bytes);
      traffic_kernels().copy(tensor(kInput).data() + out.begin, tensor(kOutput).data() + out.begin,
                             out.bytes);
    });
  }

 private:
  Windows windows_;
  Caller caller_;
  std::vector<uint64_t> seen_ = std::vector<uint64_t>(8 * 1024);
};

enum { kGradOutput, kGradInputs, kGradWeight, kInputGrad, kWeightGrad };

class NsaCompressGrad final : public Workload {
 public:
  explicit NsaCompressGrad(const Description& d) : Workload(d), windows_(windows_of(d)) {
    for (size_t k : {kGradOutput, kGradInputs, kGradWeight}) tensor(k).fill(-1, 1);
  }

  void call() override {
    caller_(
        [&](uint64_t* bytes, aclOpExecutor** executor) {
          return aclnnNsaCompressGradGetWorkspaceSize(
              handle(kGradOutput), handle(kGradInputs), handle(kGradWeight), nullptr, windows_.block,
              windows_.stride, 0, any_layout(), handle(kInputGrad), handle(kWeightGrad), bytes, executor);
        },
        aclnnNsaCompressGrad);
  }

  double run_reference(Team& team, int calls) override {
    return team.run(calls, [&](int thread) {
      const Part grads = part_of(tensor(kGradOutput).bytes(), thread, team.threads());
      const Part tokens = part_of(tensor(kGradInputs).bytes(), thread, team.threads());
      seen_[static_cast<size_t>(thread) * 8] +=
          traffic_kernels().read(tensor(kGradOutput).data() + grads.begin, grads.bytes);
      traffic_kernels().copy(tensor(kGradInputs).data() + tokens.begin,
                             tensor(kInputGrad).data() + tokens.begin, tokens.bytes);
    });
  }

 private:
  Windows windows_;
  Caller caller_;
  std::vector<uint64_t> seen_ = std::vector<uint64_t>(8 * 1024);
};

void add(std::vector<Entry>& entries, const char* dtype, const char* size, const std::string& variant,
         int64_t tokens, int64_t heads, int64_t columns, Windows windows) {
  const int64_t count = tokens < windows.block ? 0 : (tokens - windows.block) / windows.stride + 1;
  const Dims all = {tokens, heads, columns}, compressed = {count, heads, columns},
             weight = {windows.block, heads};
  const int64_t row_bytes = heads * columns * element_bytes(dtype);
  Description forward{"NsaCompress",
                      dtype,
                      size,
                      variant,
                      {{"tokens", tokens},
                       {"heads", heads},
                       {"columns", columns},
                       {"block", windows.block},
                       {"stride", windows.stride}},
                      {{"input", all, dtype}, {"weight", weight, dtype}, {"output", compressed, dtype}},
                      "read, streaming writes of the windows",
                      (tokens + count) * row_bytes};
  Description backward = forward;
  backward.op = "NsaCompressGrad";
  backward.tensors = {{"outputGrad", compressed, dtype},
                      {"input", all, dtype},
                      {"weight", weight, dtype},
                      {"inputGrad", all, dtype},
                      {"weightGrad", weight, dtype}};
  backward.reference = "copy with streaming writes, reads of the windows";
  backward.bytes = (2 * tokens + count) * row_bytes;
  entries.push_back({forward, [](const Description& self) { return std::make_unique<NsaCompress>(self); }});
  entries.push_back(
      {backward, [](const Description& self) { return std::make_unique<NsaCompressGrad>(self); }});
}

}  // namespace

std::vector<Entry> nsa_compress_workloads() {
  std::vector<Entry> entries;
  for (const char* dtype : kFloatTypes) {
    const int64_t wide = 4 / element_bytes(dtype);
    add(entries, dtype, "L1", "32_16", 64, 1, 64 * wide, {32, 16});
    add(entries, dtype, "L2", "32_16", 256, 2, 128 * wide, {32, 16});
    for (const Windows windows : {Windows{32, 16}, {64, 16}, {64, 32}, {128, 64}, {16, 16}, {24, 10}}) {
      add(entries, dtype, "memory", std::to_string(windows.block) + "_" + std::to_string(windows.stride),
          16384 * wide, 16, 128, windows);
    }
    add(entries, dtype, "memory", "wide_32_16", 2048 * wide, 128, 128, {32, 16});
    add(entries, dtype, "memory", "narrow_32_16", 131072 * wide, 4, 64, {32, 16});
  }
  return entries;
}

}  // namespace openaclnn_bench
