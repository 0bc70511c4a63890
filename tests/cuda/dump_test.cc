// Tests the dumps of acl.json on the GPU platform: tensors are copied to the host in the order of the stream.
#include <string>

#include "cuda/fake_cuda.h"
#include "cuda/native_stream.h"
#include "runtime/counter.h"
#include "runtime/dump_test.h"

namespace {

using namespace cuda_test;
using namespace runtime_test;

class CudaDump : public NativeStreamTest {
 protected:
  void SetUp() override {
    NativeStreamTest::SetUp();
    const std::string config = scratch.path("acl.json");
    scratch.write("acl.json", R"({"dump": {"dump_op_switch": "on", "dump_mode": "all", "dump_path": ")" +
                                  scratch.path("dump") + "\"}}");
    expect(0, aclInit(config.c_str()));
  }
  // Waits for the dumps. Streams end with aclFinalize.
  void finish() {
    expect(0, aclFinalize());
    stream = wrapped = nullptr;
    expect(0, aclrtSetDevice(0));
  }
  std::string file(const std::string& name) const {
    return read_file(scratch.path("dump/step0/proc" + std::to_string(getpid()) + "/" + name));
  }

  openaclnn_test::ScratchFolder scratch;
};

TEST_F(CudaDump, CopiesTensorsInTheOrderOfTheStream) {
  fake("slow=20");
  void* device = nullptr;
  expect(0, aclrtMalloc(&device, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  expect(0, aclrtMemsetAsync(device, 64, 1, 64, stream));
  expect(0, aclrtMemsetAsync(static_cast<char*>(device) + 8, 56, 2, 4, stream));
  const int64_t dims[] = {2}, strides[] = {-4}, all[] = {64};  // byte 12, then byte 8
  aclTensor* const strided = aclCreateTensor(dims, 1, ACL_INT8, strides, 12, ACL_FORMAT_ND, all, 1, device);
  aclTensor* const empty = make_tensor({0, 3}, ACL_FLOAT, nullptr);
  aclTensor* tensors[] = {strided, empty};
  expect(0, aclDumpOpTensors("Copy", "", tensors, 1, 1, stream));
  EXPECT_EQ(file("dump_tensor_data/Aten.Copy.0.forward.input.0.npy"), npy("|i1", "(2, )", "\x01\x02", 2));
  EXPECT_EQ(file("dump_tensor_data/Aten.Copy.0.forward.output.0.npy"), npy("<f4", "(0, 3)", "", 0));
  for (const aclTensor* tensor : tensors) expect(0, aclDestroyTensor(tensor));
  expect(0, aclrtFree(device));
  finish();
}

TEST_F(CudaDump, DumpsCalls) {
  Counter counter;
  for (int k = 0; k < 2; ++k) expect(0, counter.add(stream));
  finish();
  const std::string key = "dump_tensor_data/Aten.ApplyFusedEmaAdam.1.forward.";
  const float one = 1, two = 2;
  EXPECT_EQ(file(key + "kwargs.varRef.npy"), npy("<f4", "(1, )", &one, sizeof one));
  EXPECT_EQ(file(key + "output.0.npy"), npy("<f4", "(1, )", &two, sizeof two));
  EXPECT_NE(file("dump.json").find("\"Aten.ApplyFusedEmaAdam.1.forward\":{"), std::string::npos);
}

TEST_F(CudaDump, StreamsThatAreBeingCapturedHaveNone) {
  ASSERT_EQ(OPENACLNN_CUDA_API(cudaStreamBeginCapture)(native, cudaStreamCaptureModeGlobal), cudaSuccess);
  float value = 1;
  aclTensor* tensor = make_tensor({1}, ACL_FLOAT, &value);
  expect(207000, aclDumpOpTensors("Copy", "", &tensor, 1, 0, wrapped), {"captured"});
  Counter counter;
  expect(0, counter.add(wrapped));  // without its dump
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaStreamEndCapture)(native, &graph), cudaSuccess)
      << "the capture was spoilt";
  EXPECT_EQ(OPENACLNN_CUDA_API(cudaGraphDestroy)(graph), cudaSuccess);
  expect(0, aclDestroyTensor(tensor));
  finish();
}

}  // namespace
