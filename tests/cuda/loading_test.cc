// Tests the choice of the platform: where the plugin is searched, the messages if it is unusable, and that
// the CPU works without it.
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "openaclnn/openaclnn.h"
#include "runtime/counter.h"
#include "runtime/runtime_test.h"
#include "support/paths.h"
#include "support/subprocess.h"

namespace {

using namespace runtime_test;
using Variables = std::map<std::string, std::string>;

// ---- in a separate process ----

class RefusedInProcess : public testing::Test {};
PROCESS_TEST_F(RefusedInProcess, TheDeviceIsMissing) {
  uint32_t count = 1;
  expect(0, aclrtGetDeviceCount(&count));
  EXPECT_EQ(count, 0u);
  const char* const sentence = std::getenv("SENTENCE");
  ASSERT_NE(sentence, nullptr);
  expect(207004, aclrtSetDevice(0), {"no CUDA device: ", sentence});
  aclrtContext context = nullptr;
  expect(207004, aclrtCreateContext(&context, 0), {sentence});
  // Phase 1 needs no device.
  Counter counter;
  aclOpExecutor* const executor = counter.planned();
  expect(107002, aclnnApplyFusedEmaAdam(nullptr, 0, executor, nullptr), {"no current context"});
}

class WorksInProcess : public testing::Test {};
PROCESS_TEST_F(WorksInProcess, AnOperatorRuns) {
  expect(0, aclrtSetDevice(0));
  Counter counter;
  expect(0, counter.add(nullptr));
  expect(0, aclrtSynchronizeStream(nullptr));
  EXPECT_EQ(counter.value(), 1.0f);
  size_t free_bytes = 0, total_bytes = 0;
  expect(0, aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes));
  EXPECT_EQ(total_bytes == size_t{8} << 30, std::getenv("ON_FAKE_GPU") != nullptr);
}

// The library's description of itself for `openaclnn doctor`.
class DescribedInProcess : public testing::Test {};
PROCESS_TEST_F(DescribedInProcess, WithItsDevices) {
  std::string text(1 << 16, '\0');
  expect(0, openaclnnDescribe(text.data(), text.size(), nullptr));
  const char* const expected = std::getenv("DESCRIBED");
  ASSERT_NE(expected, nullptr);
  EXPECT_NE(text.find(expected), std::string::npos) << text;
}

// Threads that arrive first at the same time all find the same platform, and contexts of one device.
class FirstUseInProcess : public testing::Test {};
PROCESS_TEST_F(FirstUseInProcess, ByManyThreads) {
  std::vector<std::thread> threads;
  std::vector<Counter> counters(8);
  for (Counter& counter : counters) {
    threads.emplace_back([&] {
      expect(0, aclrtSetDevice(0));
      expect(0, counter.add(nullptr));
      expect(0, aclrtSynchronizeStream(nullptr));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Counter& counter : counters) EXPECT_EQ(counter.value(), 1.0f);
}

// ---- the parent ----

void expect_suite(const std::string& name, const Variables& environment) {
  const openaclnn_test::ProcessResult result = openaclnn_test::run_suite(name, environment);
  EXPECT_TRUE(openaclnn_test::ran_and_passed(result)) << result.output;
}

struct Refusal {
  const char* name;
  Variables environment;
  const char* sentence;
};

const Refusal kRefusals[] = {
    {"NoPlugin",
     {{"OPENACLNN_CUDA_PLUGIN", "/nowhere/plugin.so"}},
     "plugin file not found at /nowhere/plugin.so"},
    {"NoLibrary", {{"OPENACLNN_CUDA_PLUGIN", "/dev/null"}}, "plugin /dev/null failed to load: "},
    {"ForeignLibrary", {{"OPENACLNN_CUDA_PLUGIN", test_paths::library}}, "isn't a CUDA plugin of openaclnn"},
    {"OtherBuild",
     {{"OPENACLNN_CUDA_PLUGIN", test_paths::old_plugin}},
     "belongs to a different build of openaclnn (0.0.0-old)"},
    {"NoDriver", {{"OPENACLNN_FAKE_CUDA", "driver=0"}}, "no driver: libcuda.so.1"},
    {"OldDriver",
     {{"OPENACLNN_FAKE_CUDA", "driver=12040"}},
     "supports CUDA 12.4, but this plugin needs CUDA 13.0"},
    {"NoGpu", {{"OPENACLNN_FAKE_CUDA", "devices=0"}}, "no GPU: the driver sees no CUDA device"},
    {"OldGpu",
     {{"OPENACLNN_FAKE_CUDA", "capability=75"}},
     "GPU too old: device 0 (emulated GPU 0) has compute capability 7.5, but this plugin needs 8.0 or later"},
    {"DriverError",
     {{"OPENACLNN_FAKE_CUDA", "fail=cudaGetDeviceCount:1:999"}},
     "the driver does not respond: "},
};

class Refusals : public testing::TestWithParam<Refusal> {
 protected:
  Variables environment(const char* device) const {
    Variables all = GetParam().environment;
    all.insert({{"OPENACLNN_DEVICE", device}, {"OPENACLNN_CUDA_PLUGIN", test_paths::fake_plugin}});
    return all;
  }
};

TEST_P(Refusals, OfCudaSayWhatIsMissing) {
  Variables all = environment("cuda");
  all["SENTENCE"] = GetParam().sentence;
  expect_suite("Refused", all);
}

TEST_P(Refusals, LeaveTheCpuToAuto) { expect_suite("Works", environment("auto")); }

TEST_P(Refusals, AreDescribed) {
  Variables all = environment("auto");
  all["DESCRIBED"] = GetParam().sentence;
  expect_suite("Described", all);
}

INSTANTIATE_TEST_SUITE_P(Reasons, Refusals, testing::ValuesIn(kRefusals),
                         [](const auto& refusal) { return refusal.param.name; });

#if !defined(OPENACLNN_PLUGIN_BESIDE_LIBRARY)
TEST(Loading, WithoutAPluginBesideTheLibraryCudaIsRefused) {
  expect_suite("Refused", {{"OPENACLNN_DEVICE", "cuda"}, {"SENTENCE", "plugin file not found at /"}});
}
#endif

TEST(Loading, AnInstalledPluginIsFoundInItsFolder) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / ("openaclnn-installed-" + std::to_string(getpid()));
  fs::create_directories(folder / "openaclnn");
  fs::create_symlink(test_paths::library, folder / "libopenaclnn.so.1");
  fs::create_symlink(test_paths::fake_plugin, folder / "openaclnn" / "libopenaclnn_cuda.so");
  expect_suite("Works", {{"LD_LIBRARY_PATH", folder.string()}, {"ON_FAKE_GPU", "1"}});
  fs::remove_all(folder);
}

TEST(Loading, AutoTakesAGpuThatAnswers) {
  expect_suite("Works", {{"OPENACLNN_CUDA_PLUGIN", test_paths::fake_plugin}, {"ON_FAKE_GPU", "1"}});
}

TEST(Loading, GpusAreDescribed) {
  expect_suite("Described", {{"OPENACLNN_CUDA_PLUGIN", test_paths::fake_plugin},
                             {"OPENACLNN_FAKE_CUDA", "devices=2"},
                             {"DESCRIBED",
                              "\"platform\":\"cuda\",\"devices\":2,"
                              "\"deviceNames\":[\"emulated GPU 0\",\"emulated GPU 1\"]"}});
}

// Device numbers are those of CUDA.
TEST(Loading, GpusBeforeAnOldOneAreUsed) {
  expect_suite("Described", {{"OPENACLNN_CUDA_PLUGIN", test_paths::fake_plugin},
                             {"OPENACLNN_FAKE_CUDA", "devices=3 capability=75 modern=2"},
                             {"DESCRIBED", "\"deviceNames\":[\"emulated GPU 0\",\"emulated GPU 1\"]"}});
}

TEST(Loading, AGpuWithoutNameIsDescribedByTheReason) {
  expect_suite("Described", {{"OPENACLNN_CUDA_PLUGIN", test_paths::fake_plugin},
                             {"OPENACLNN_FAKE_CUDA", "fail=cudaGetDeviceProperties:1:1"},
                             {"DESCRIBED", "\"deviceNames\":[\"device 0: cudaErrorInvalidValue"}});
}

TEST(Loading, CpuDoesNotLookAtThePlugin) {
  expect_suite("Described", {{"OPENACLNN_DEVICE", "cpu"},
                             {"OPENACLNN_CUDA_PLUGIN", test_paths::fake_plugin},
                             {"DESCRIBED", "\"whyNoCuda\":\"disabled by OPENACLNN_DEVICE=cpu\""}});
  expect_suite("Works", {{"OPENACLNN_DEVICE", "cpu"}, {"OPENACLNN_CUDA_PLUGIN", test_paths::fake_plugin}});
}

TEST(Loading, FirstUseByManyThreads) {
  expect_suite("FirstUse",
               {{"OPENACLNN_DEVICE", "cuda"}, {"OPENACLNN_CUDA_PLUGIN", test_paths::fake_plugin}});
}

}  // namespace
