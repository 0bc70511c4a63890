// The scenarios of the runtime: the life of every kind of object, from the first call of a process to the last.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnn/aclnn_base.h"
#include "failures/attempt.h"
#include "judge/scratch_folder.h"
#include "runtime/counter.h"
#include "runtime/lookup.h"
#include "runtime/runtime_test.h"

namespace failures {
namespace {

using namespace runtime_test;

constexpr int kNoMemory = 207001;      // aclrt functions
constexpr int kNoMetaMemory = 561101;  // tensors, arrays, executors, phase 1
constexpr int kNotQueued = 361001;     // phase 2

struct Device {
  explicit Device(Attempt& run) : a(run) {
    a.step("aclrtSetDevice", {kNoMemory}, [] { return aclrtSetDevice(0); });
  }
  ~Device() {
    a.always("aclrtResetDevice", [] { return aclrtResetDevice(0); });
  }
  aclrtStream stream() const {
    aclrtStream made = nullptr;
    a.step("aclrtCreateStream", {kNoMemory}, [&] { return aclrtCreateStream(&made); });
    return made;
  }
  void destroy(aclrtStream stream) const {
    a.always("aclrtDestroyStream", [&] { return aclrtDestroyStream(stream); });
  }
  void synchronize(aclrtStream stream) const {
    a.step("aclrtSynchronizeStream", {kNoMemory}, [&] { return aclrtSynchronizeStream(stream); });
  }
  Attempt& a;
};

void devices(Attempt& a) {
  uint32_t count = 0;
  a.step("aclrtGetDeviceCount", {kNoMemory}, [&] { return aclrtGetDeviceCount(&count); });
  a.result(count);
  for (int32_t id = 0; id < static_cast<int32_t>(count); ++id) {
    a.step("aclrtSetDevice", {kNoMemory}, [&] { return aclrtSetDevice(id); });
    int32_t current = -1;
    a.step("aclrtGetDevice", {kNoMemory}, [&] { return aclrtGetDevice(&current); });
    a.result(current);
  }
  size_t free_bytes = 0, total_bytes = 0;
  a.step("aclrtGetMemInfo", {kNoMemory, ACL_ERROR_RT_FEATURE_NOT_SUPPORT},
         [&] { return aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes); });
  a.result(free_bytes <= total_bytes);
  for (int32_t id = 0; id < static_cast<int32_t>(count); ++id) {
    a.always("aclrtResetDevice", [&] { return aclrtResetDevice(id); });
  }
}

// With a file, whose reading may also fail.
void life_of_the_process(Attempt& a) {
  constexpr std::string_view kJson = "{\"dump\": {\"list\": [1, 2, 3]}}";
  const int file = memfd_create("config", 0);
  a.require(write(file, kJson.data(), kJson.size()) == static_cast<ssize_t>(kJson.size()), "no file to read");
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  for (const char* config : {path.c_str(), static_cast<const char*>(nullptr)}) {
    a.step("aclInit", {kNoMemory, ACL_ERROR_INVALID_FILE}, [&] { return aclInit(config); });
    {
      Device device(a);
      const aclrtStream stream = device.stream();
      device.synchronize(stream);
    }
    a.always("aclFinalize", [] { return aclFinalize(); });
  }
  (void)syscall(SYS_close, file);
}

// With dumps of calls, which may be missing, and of tensors.
void dumps(Attempt& a) {
  const openaclnn_test::ScratchFolder scratch;
  const std::string config = scratch.path("acl.json");
  scratch.write("acl.json",
                R"({"dump": {"dump_op_switch": "on", "dump_path": ")" + scratch.path("dump") + "\"}}");
  a.step("aclInit", {kNoMemory, ACL_ERROR_INVALID_FILE}, [&] { return aclInit(config.c_str()); });
  {
    Device device(a);
    const aclrtStream stream = device.stream();
    Counter counter(3);
    for (int k = 0; k < 2; ++k) {
      a.step("both phases", {kNoMemory, kNoMetaMemory, kNotQueued}, [&] { return counter.add(stream); });
      aclTensor* tensor = counter.tensor(1);
      a.step("aclDumpOpTensors", {kNoMemory, kNotQueued, ACL_ERROR_WRITE_FILE},
             [&] { return aclDumpOpTensors("Count", "", &tensor, 0, 1, stream); });
    }
    a.require(counter.all_equal(2), "a task ran twice or never");
    device.synchronize(stream);
  }
  a.always("aclFinalize", [] { return aclFinalize(); });
}

void contexts(Attempt& a) {
  Device device(a);
  std::array<aclrtContext, 3> made = {};
  for (aclrtContext& context : made)
    a.step("aclrtCreateContext", {kNoMemory}, [&] { return aclrtCreateContext(&context, 0); });
  a.step("aclrtSetCurrentContext", {kNoMemory}, [&] { return aclrtSetCurrentContext(made[0]); });
  aclrtStream stream = nullptr;
  a.step("aclrtCtxGetCurrentDefaultStream", {kNoMemory},
         [&] { return aclrtCtxGetCurrentDefaultStream(&stream); });
  device.synchronize(stream);
  int64_t value = 0;
  a.step("aclrtCtxSetSysParamOpt", {kNoMemory},
         [] { return aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1); });
  a.step("aclrtCtxGetSysParamOpt", {kNoMemory},
         [&] { return aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value); });
  a.step("aclrtSetSysParamOpt", {kNoMemory}, [] { return aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1); });
  a.result(value);
  a.step("aclrtSynchronizeDevice", {kNoMemory}, [] { return aclrtSynchronizeDevice(); });
  for (const aclrtContext context : made)
    a.always("aclrtDestroyContext", [&] { return aclrtDestroyContext(context); });
}

void streams(Attempt& a) {
  Device device(a);
  std::vector<aclrtStream> made;
  for (int k = 0; k < 40; ++k) made.push_back(device.stream());  // their tables grow
  for (const aclrtStream stream : made) device.synchronize(stream);
  a.step("aclrtSynchronizeDeviceWithTimeout", {kNoMemory},
         [] { return aclrtSynchronizeDeviceWithTimeout(10000); });
  for (const aclrtStream stream : made) {
    if (stream == made[3]) continue;
    device.destroy(stream);
  }
  a.always("aclrtDestroyStreamForce", [&] { return aclrtDestroyStreamForce(made[3]); });
}

void events(Attempt& a) {
  Device device(a);
  const aclrtStream first = device.stream(), second = device.stream();
  std::array<char, 1000> bytes = {};
  std::vector<aclrtEvent> made(12);
  for (aclrtEvent& event : made) {
    a.step("aclrtCreateEvent", {kNoMemory}, [&] { return aclrtCreateEvent(&event); });
    a.step("aclrtMemsetAsync", {kNoMemory},
           [&] { return aclrtMemsetAsync(bytes.data(), bytes.size(), 7, bytes.size(), first); });
    a.step("aclrtRecordEvent", {kNoMemory}, [&] { return aclrtRecordEvent(event, first); });
    a.step("aclrtStreamWaitEvent", {kNoMemory}, [&] { return aclrtStreamWaitEvent(second, event); });
  }
  device.synchronize(second);
  for (const aclrtEvent event : made) {
    a.step("aclrtSynchronizeEvent", {kNoMemory}, [&] { return aclrtSynchronizeEvent(event); });
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    a.step("aclrtQueryEventStatus", {kNoMemory}, [&] { return aclrtQueryEventStatus(event, &status); });
    a.result(status);
    float milliseconds = -1;
    a.step("aclrtEventElapsedTime", {kNoMemory},
           [&] { return aclrtEventElapsedTime(&milliseconds, made[0], event); });
    a.result(milliseconds >= 0);
  }
  a.step("aclrtResetEvent", {kNoMemory}, [&] { return aclrtResetEvent(made[1], first); });
  a.result(bytes.data(), bytes.size());
  for (const aclrtEvent event : made) a.always("aclrtDestroyEvent", [&] { return aclrtDestroyEvent(event); });
  device.destroy(first);
  device.destroy(second);
}

// Blocks of every size class, and large ones that are mapped, cached and returned.
void memory(Attempt& a) {
  Device device(a);
  std::vector<void*> blocks, host_blocks;
  for (const size_t bytes : {1ul, 100ul, 200ul, 5000ul, 100000ul, 300000ul, 600000ul, 3ul << 20, 9ul << 20}) {
    void* block = nullptr;
    a.step("aclrtMalloc", {kNoMemory}, [&] { return aclrtMalloc(&block, bytes, ACL_MEM_MALLOC_HUGE_FIRST); });
    blocks.push_back(block);
    a.step("aclrtMallocAlign32", {kNoMemory},
           [&] { return aclrtMallocAlign32(&block, bytes, ACL_MEM_MALLOC_NORMAL_ONLY); });
    blocks.push_back(block);
    a.step("aclrtMallocHost", {kNoMemory}, [&] { return aclrtMallocHost(&block, bytes); });
    host_blocks.push_back(block);
    a.step("aclrtMemset", {kNoMemory}, [&] { return aclrtMemset(blocks.back(), bytes, 3, bytes); });
    a.step("aclrtMemcpy", {kNoMemory}, [&] {
      return aclrtMemcpy(host_blocks.back(), bytes, blocks.back(), bytes, ACL_MEMCPY_DEVICE_TO_HOST);
    });
    a.result(static_cast<char*>(host_blocks.back()) + bytes - std::min<size_t>(bytes, 64),
             std::min<size_t>(bytes, 64));
  }
  for (void* const block : blocks) a.always("aclrtFree", [&] { return aclrtFree(block); });
  for (void* const block : host_blocks) a.always("aclrtFreeHost", [&] { return aclrtFreeHost(block); });
}

// Pageable sources are copied during the call. Memory that is freed early is kept until its tasks have run.
void copies(Attempt& a) {
  Device device(a);
  const aclrtStream stream = device.stream();
  for (const size_t bytes : {100ul, 70000ul, 1ul << 20}) {
    const std::vector<char> source(bytes, 'x');
    std::vector<char> target(bytes, 0);
    void* block = nullptr;
    a.step("aclrtMalloc", {kNoMemory}, [&] { return aclrtMalloc(&block, bytes, ACL_MEM_MALLOC_HUGE_FIRST); });
    for (int k = 0; k < 6; ++k) {
      a.step("aclrtMemcpyAsync", {kNoMemory}, [&] {
        return aclrtMemcpyAsync(block, bytes, source.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE, stream);
      });
    }
    a.step("aclrtMemcpyAsync", {kNoMemory}, [&] {
      return aclrtMemcpyAsync(target.data(), bytes, block, bytes, ACL_MEMCPY_DEVICE_TO_HOST, stream);
    });
    a.always("aclrtFree", [&] { return aclrtFree(block); });
    device.synchronize(stream);
    a.result(target.data() + bytes - 64, 64);
  }
  device.destroy(stream);
}

void descriptions(Attempt& a) {
  const int64_t dims[] = {2, 3, 4, 5, 1, 1, 1, 1};
  float data[120] = {1};
  bool flags[] = {true, false};
  std::vector<aclTensor*> tensors;
  for (uint64_t rank = 0; rank <= 8; ++rank) {
    tensors.push_back(a.create("aclCreateTensor", [&] {
      return aclCreateTensor(dims, rank, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, rank, data);
    }));
    int64_t *shape = nullptr, *storage = nullptr, *strides = nullptr;
    uint64_t count = 0;
    a.step("aclGetViewShape", {kNoMetaMemory},
           [&] { return aclGetViewShape(tensors.back(), &shape, &count); });
    a.result(static_cast<int64_t>(count));
    a.step("aclGetStorageShape", {kNoMetaMemory},
           [&] { return aclGetStorageShape(tensors.back(), &storage, &count); });
    a.step("aclGetViewStrides", {kNoMetaMemory},
           [&] { return aclGetViewStrides(tensors.back(), &strides, &count); });
    a.result(strides, count * sizeof *strides);
    delete[] shape, delete[] storage, delete[] strides;
    a.step("aclSetRawTensorAddr", {kNoMetaMemory},
           [&] { return aclSetRawTensorAddr(tensors.back(), data + 1); });
    a.step("aclInitTensor", {kNoMetaMemory}, [&] {
      return aclInitTensor(tensors.back(), dims, rank, ACL_FLOAT16, nullptr, 0, ACL_FORMAT_ND, dims, rank,
                           data);
    });
  }
  aclIntArray* const ints = a.create("aclCreateIntArray", [&] { return aclCreateIntArray(dims, 8); });
  aclFloatArray* const floats = a.create("aclCreateFloatArray", [&] { return aclCreateFloatArray(data, 9); });
  aclBoolArray* const bools = a.create("aclCreateBoolArray", [&] { return aclCreateBoolArray(flags, 2); });
  std::vector<aclScalar*> scalars;
  for (int k = 0; k < 3; ++k)
    scalars.push_back(a.create("aclCreateScalar", [&] { return aclCreateScalar(data, ACL_FLOAT); }));
  aclTensorList* const list =
      a.create("aclCreateTensorList", [&] { return aclCreateTensorList(tensors.data(), tensors.size()); });
  aclScalarList* const scalar_list =
      a.create("aclCreateScalarList", [&] { return aclCreateScalarList(scalars.data(), scalars.size()); });
  uint64_t size = 0;
  a.step("aclGetTensorListSize", {kNoMetaMemory}, [&] { return aclGetTensorListSize(list, &size); });
  a.result(static_cast<int64_t>(size));
  a.always("aclDestroyTensorList", [&] { return aclDestroyTensorList(list); });
  a.always("aclDestroyScalarList", [&] { return aclDestroyScalarList(scalar_list); });
  a.always("aclDestroyIntArray", [&] { return aclDestroyIntArray(ints); });
  a.always("aclDestroyFloatArray", [&] { return aclDestroyFloatArray(floats); });
  a.always("aclDestroyBoolArray", [&] { return aclDestroyBoolArray(bools); });
}

// Rejections need memory for their error messages; without it they still return the code.
void refusals(Attempt& a) {
  Device device(a);
  const auto refused = [&](int code, const Attempt::Call& call) {
    // The expected code counts as success. Its error message is cleared, as a success would leave none.
    a.step("a refused call", {kNoMemory, kNoMetaMemory}, [&] {
      const int got = call();
      if (got != code) return got == 0 ? -1 : got;
      const char* const text = aclGetRecentErrMsg();
      return text == nullptr || std::strstr(text, ": ") != nullptr ? 0 : -2;
    });
  };
  void* const foreign = reinterpret_cast<void*>(uintptr_t{0x5300000000001234});
  for (int k = 0; k < 3; ++k) {
    refused(100000, [] { return aclrtMalloc(nullptr, 8, ACL_MEM_MALLOC_HUGE_FIRST); });
    refused(107017, [&] { return aclrtSynchronizeStream(foreign); });
    refused(107017, [&] { return aclrtDestroyEvent(foreign); });
    refused(107000, [&] { return aclrtFree(foreign); });
    refused(107001, [] { return aclrtSetDevice(77); });
    refused(561103, [] { return aclSetAclOpExecutorRepeatable(nullptr); });
    refused(207001, [] {
      void* block = nullptr;
      return aclrtMalloc(&block, size_t{1} << 60, ACL_MEM_MALLOC_HUGE_FIRST);
    });
  }
}

// A kernel's fault reaches the caller, even if memory for the error message is missing at first.
void faults(Attempt& a) {
  Device device(a);
  const aclrtStream stream = device.stream();
  for (int round = 0; round < 3; ++round) {
    Lookup good({1, 2}), bad({3, 77, 4});
    const auto enqueue = [&](Lookup& lookup) {
      a.step("Embedding", {kNoMemory, kNoMetaMemory, kNotQueued}, [&] { return lookup.enqueue(stream); });
    };
    enqueue(good);
    enqueue(bad);
    const auto take = [&] {
      const int code = round < 2 ? aclrtSynchronizeStream(stream) : aclrtSynchronizeDevice();
      if (code != 507035) return code;
      const char* const text = aclGetRecentErrMsg();
      return text != nullptr && std::strstr(text, "indices[1] = 77") != nullptr ? 0 : -1;
    };
    a.step("a synchronise that reports", {kNoMemory}, take);
    a.result(bad.out().data(), bad.out().size() * sizeof(float));
    device.synchronize(stream);
  }
  Lookup orphan({99});
  a.step("Embedding", {kNoMemory, kNoMetaMemory, kNotQueued}, [&] { return orphan.enqueue(stream); });
  device.destroy(stream);
  a.step("a synchronise of the device", {kNoMemory}, [&] {
    const int code = aclrtSynchronizeDevice();
    if (code != 507035) return code == 0 ? -1 : code;
    return aclGetRecentErrMsg() != nullptr ? 0 : -1;
  });
}

// Tasks that wait for one another in several streams, more of them than any preallocated storage holds.
void queues(Attempt& a) {
  Device device(a);
  const aclrtStream first = device.stream(), second = device.stream();
  Counter small(3), large(30000);
  for (int k = 0; k < 25; ++k) {
    a.step("small", {kNoMemory, kNoMetaMemory, kNotQueued}, [&] { return small.add(first); });
    a.step("large", {kNoMemory, kNoMetaMemory, kNotQueued}, [&] { return large.add(second); });
  }
  device.synchronize(first);
  device.synchronize(second);
  a.require(small.all_equal(25) && large.all_equal(25), "a task ran twice or never");
  device.destroy(first);
  device.destroy(second);
}

}  // namespace

std::vector<Scenario> runtime_scenarios() {
  struct Named {
    const char* name;
    void (*run)(Attempt&);
  };
  std::vector<Scenario> all;
  for (const Named& named : {Named{"devices", devices},
                             {"life of the process", life_of_the_process},
                             {"dumps", dumps},
                             {"contexts", contexts},
                             {"streams", streams},
                             {"events", events},
                             {"memory", memory},
                             {"copies", copies},
                             {"descriptions", descriptions},
                             {"refusals", refusals},
                             {"faults", faults},
                             {"queues", queues}}) {
    for (const char* threads : {"1", "3"}) {
      all.push_back({std::string(named.name) + ", " + threads + " threads",
                     {{"OPENACLNN_NUM_THREADS", threads}, {"OPENACLNN_CPU_DEVICES", "3"}},
                     named.run});
    }
    if (named.run == faults) continue;  // phase 2 itself reports them below
    // Without the variable, files determine the number of threads.
    all.push_back({std::string(named.name) + ", blocking",
                   {{"OPENACLNN_NUM_THREADS", ""},
                    {"OPENACLNN_BLOCKING", "1"},
                    {"OPENACLNN_SOC_NAME", "Ascend-long-enough-for-the-heap"}},
                   named.run});
  }
  return all;
}

}  // namespace failures
