// Runs every case of every room on the CUDA device, a real one or the emulation. It tests the formula, the
// bits of the CPU, that only outputs are written, and the same results from a CUDA graph. Tensors are in
// device memory (support/device_twin.h).
//
// Without a device the program prints how many cases were not run and why, and exits with 77, which ctest
// counts as skipped.
#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "cuda/cuda_api.h"
#include "cuda/planned_case.h"
#include "openaclnn/openaclnn.h"
#include "support/expect.h"
#include "support/golden_hashes.h"
#include "support/paths.h"
#include "support/verify.h"
#include "verify/device_twin.h"
#include "verify/number.h"
#include "verify/room_cases.h"

namespace openaclnn_test {
namespace {

// Returns the CPU's hashes by the names of their cases. A room whose results differ on CUDA has a second
// file.
// The setting names the folder src/ops for a program that was built in another tree.
std::map<std::string, std::string> wanted_hashes() {
  const char* const told = std::getenv("OPENACLNN_TEST_GOLDEN");
  const std::string folder = told != nullptr ? told : test_paths::ops_folder;
  std::map<std::string, std::string> hashes = golden_hashes(folder, "golden_hashes_cuda.txt");
  hashes.merge(golden_hashes(folder, "golden_hashes.txt"));  // existing hashes take precedence
  return hashes;
}

std::string hash_text_of(const Case& c, const std::vector<HostTensor>& tensors) {
  char text[17];
  std::snprintf(text, sizeof text, "%016" PRIx64, hash_of_results(c, tensors));
  return text;
}

void expect_clean(const Case& c, const std::vector<HostTensor>& tensors) {
  for (size_t k = 0; k < tensors.size(); ++k) {
    EXPECT_TRUE(tensors[k].gaps_intact()) << "bytes around " << c.tensors[k].name << " changed";
    if (c.tensors[k].role != Role::input) continue;
    EXPECT_TRUE(tensors[k].unchanged()) << c.tensors[k].name << " was written to";
  }
}

// compute-sanitizer takes a thousand times as long, so only small cases run.
int64_t most_bytes() {
  const char* const text = std::getenv("OPENACLNN_TEST_MOST_BYTES");
  return text != nullptr ? std::atoll(text) : INT64_MAX;
}

class Device : public testing::TestWithParam<std::string> {
 protected:
  template <class Body>
  void for_each_case(const Body& body) {
    for (const Case& c : all_cases()) {
      if (c.operator_name() != GetParam() || c.minimal_bytes > most_bytes()) continue;
      SCOPED_TRACE(c.name);
      body(c);
      if (HasFatalFailure()) return;
    }
  }
};

TEST_P(Device, FollowsTheFormulaWithTheBitsOfTheCpu) {
  const std::map<std::string, std::string> golden = wanted_hashes();
  for_each_case([&](const Case& c) {
    std::vector<HostTensor> tensors = make_tensors(c);
    const std::vector<HostTensor> before = before_call(c, tensors);
    for (HostTensor& tensor : tensors) tensor.remember();
    ASSERT_TRUE(succeeded(run_case(c, tensors)));
    expect_clean(c, tensors);
    Judge judge;
    judge_case(c, before, tensors, judge);
    EXPECT_TRUE(judge.ok()) << judge.messages();
    const auto wanted = golden.find(c.name);
    ASSERT_NE(wanted, golden.end()) << "no golden hash";
    EXPECT_EQ(hash_text_of(c, tensors), wanted->second);
  });
}

// A captured call gives the same bits whenever its graph runs, with the tensors' contents at that time.
TEST_P(Device, RunsFromAGraph) {
  cudaStream_t native = nullptr;
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaStreamCreateWithFlags)(&native, cudaStreamNonBlocking), cudaSuccess);
  use_device();
  aclrtStream stream = nullptr;
  ASSERT_EQ(openaclnnCreateStreamFromNative(native, &stream), 0) << take_error_text();
  int cases = 0;
  for_each_case([&](const Case& c) {
    if (++cases % 4 != 1) return;  // a graph holds the same kernels, so some cases of each room suffice
    const std::vector<HostTensor> direct = make_tensors(c);
    ASSERT_TRUE(succeeded(run_case(c, direct)));

    const PlannedCase planned(c);
    ASSERT_NE(planned.executor, nullptr);
    const GuardedBuffer workspace(planned.workspace_bytes);
    void* const scratch = workspace.address_for_library(workspace.data());
    ASSERT_EQ(OPENACLNN_CUDA_API(cudaStreamBeginCapture)(native, cudaStreamCaptureModeGlobal), cudaSuccess);
    ASSERT_EQ(c.phase2(scratch, planned.workspace_bytes, planned.executor, stream), 0) << take_error_text();
    cudaGraph_t graph = nullptr;
    ASSERT_EQ(OPENACLNN_CUDA_API(cudaStreamEndCapture)(native, &graph), cudaSuccess);
    cudaGraphExec_t exec = nullptr;
    ASSERT_EQ(OPENACLNN_CUDA_API(cudaGraphInstantiate)(&exec, graph, 0), cudaSuccess);
    for (int replay = 0; replay < 2; ++replay) {
      const std::vector<HostTensor> fresh = make_tensors(c);
      for (size_t k = 0; k < planned.tensors.size(); ++k) {
        const auto bytes = static_cast<size_t>(element_bytes(planned.tensors[k].dtype()));
        for (int64_t i = 0; i < planned.tensors[k].numel(); ++i)
          std::memcpy(planned.tensors[k].element(i), fresh[k].element(i), bytes);
      }
      DeviceTwin::upload_all();
      ASSERT_EQ(OPENACLNN_CUDA_API(cudaGraphLaunch)(exec, native), cudaSuccess);
      ASSERT_EQ(aclrtSynchronizeStream(stream), 0) << take_error_text();
      DeviceTwin::download_all();
      EXPECT_EQ(hash_text_of(c, planned.tensors), hash_text_of(c, direct)) << "replay " << replay;
    }
    EXPECT_EQ(OPENACLNN_CUDA_API(cudaGraphExecDestroy)(exec), cudaSuccess);
    EXPECT_EQ(OPENACLNN_CUDA_API(cudaGraphDestroy)(graph), cudaSuccess);
  });
  EXPECT_EQ(aclrtDestroyStream(stream), 0) << take_error_text();
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaStreamDestroy)(native), cudaSuccess);
}

INSTANTIATE_TEST_SUITE_P(Rooms, Device, testing::ValuesIn(operator_names()),
                         [](const auto& room) { return room.param; });

// One line per case, as golden_hashes.txt has them.
int print_hashes() {
  for (const Case& c : all_cases()) {
    const std::vector<HostTensor> tensors = make_tensors(c);
    if (const Outcome outcome = run_case(c, tensors); !outcome.ok()) {
      std::printf("FAILED %s: %s\n", c.name.c_str(), outcome.text().c_str());
      return 1;
    }
    std::printf("%s %s\n", hash_text_of(c, tensors).c_str(), c.name.c_str());
  }
  return 0;
}

}  // namespace
}  // namespace openaclnn_test

int main(int argc, char** argv) {
  setenv("OPENACLNN_DEVICE", "cuda", 0);
  setenv("OPENACLNN_TEST_MEMORY", "device", 0);
  uint32_t count = 0;
  if (aclrtGetDeviceCount(&count) != 0 || count == 0) {
    const aclError code = aclrtSetDevice(0);
    std::string why = openaclnn_test::take_error_text();
    why = why.substr(0, why.find('\n'));
    std::printf("%zu device cases were not run: %s (code %d)\n", openaclnn_test::all_cases().size(),
                why.c_str(), code);
    return 77;
  }
  if (argc > 1 && std::string(argv[1]) == "--print-hashes") return openaclnn_test::print_hashes();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
