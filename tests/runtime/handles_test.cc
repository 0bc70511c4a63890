// Handles: every function that takes one, against NULL, random bits, stale handles and handles of every other kind.
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "runtime/runtime_test.h"

namespace {

using namespace runtime_test;
using Handle = void*;

// One function with one handle parameter; the other arguments are valid.
struct Door {
  const char* name;
  char kind;       // of the handle it wants
  int null_code;   // for NULL
  int stale_code;  // for everything that is not live
  std::function<int(Handle)> call;
};

class HandlesTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    make_doors();
  }

  // A live object of each kind.
  Handle make(char kind) {
    const int64_t ints[] = {1};
    const float floats[] = {1};
    const bool bools[] = {true};
    float value = 1;
    Handle handle = nullptr;
    switch (kind) {
      case 'T': return make_tensor({1}, ACL_FLOAT, &data_);
      case 'C': return aclCreateScalar(&value, ACL_FLOAT);
      case 'I': return aclCreateIntArray(ints, 1);
      case 'F': return aclCreateFloatArray(floats, 1);
      case 'B': return aclCreateBoolArray(bools, 1);
      case 'L': return aclCreateTensorList(nullptr, 0);
      case 'K': return aclCreateScalarList(nullptr, 0);
      case 'E': return counter_.planned();
      case 'S': return new_stream();
      case 'V': return new_event();
      default:
        expect(0, aclrtCreateContext(&handle, 0));
        expect(0, aclrtSetDevice(0));
        expect(0, aclrtResetDevice(0));
        return handle;
    }
  }
  int destroy(char kind, Handle handle) {
    switch (kind) {
      case 'T': return aclDestroyTensor(static_cast<aclTensor*>(handle));
      case 'C': return aclDestroyScalar(static_cast<aclScalar*>(handle));
      case 'I': return aclDestroyIntArray(static_cast<aclIntArray*>(handle));
      case 'F': return aclDestroyFloatArray(static_cast<aclFloatArray*>(handle));
      case 'B': return aclDestroyBoolArray(static_cast<aclBoolArray*>(handle));
      case 'L': return aclDestroyTensorList(static_cast<aclTensorList*>(handle));
      case 'K': return aclDestroyScalarList(static_cast<aclScalarList*>(handle));
      case 'E': return aclDestroyAclOpExecutor(static_cast<aclOpExecutor*>(handle));
      case 'S': return aclrtDestroyStream(handle);
      case 'V': return aclrtDestroyEvent(handle);
      default: return aclrtDestroyContext(handle);
    }
  }
  static constexpr char kKinds[] = "TCIFBLKESVX";

  // One of the six tensors of an operator's phase 1; the others are valid.
  int phase1_with(size_t position, Handle handle) {
    aclTensor* t[6];
    for (size_t k = 0; k < 6; ++k)
      t[k] = k == position ? static_cast<aclTensor*>(handle) : counter_.tensor(k);
    return aclnnApplyFusedEmaAdamGetWorkspaceSize(t[0], t[1], t[2], t[3], t[4], t[5], 1, 0, 0, 0, 0, 1, false,
                                                  0, &bytes_, &executor_);
  }
  int embedding_with(size_t position, Handle handle) {
    const aclTensor* t[3];
    for (size_t k = 0; k < 3; ++k)
      t[k] = k == position ? static_cast<aclTensor*>(handle) : counter_.tensor(k);
    return aclnnEmbeddingGetWorkspaceSize(t[0], t[1], t[2], &bytes_, &executor_);
  }

  void add(const char* name, char kind, int null_code, int stale_code, std::function<int(Handle)> call) {
    doors.push_back({name, kind, null_code, stale_code, std::move(call)});
  }
  template <class T>
  static T* as(Handle handle) {
    return static_cast<T*>(handle);
  }
  void make_doors();

  std::vector<Door> doors;
  Counter counter_;
  float data_ = 0;
  uint64_t bytes_ = 0;
  int64_t* dims_ = nullptr;
  aclOpExecutor* executor_ = nullptr;
};

void HandlesTest::make_doors() {
  const auto tensor = [this](const char* name, auto function) { add(name, 'T', 161001, 161002, function); };
  tensor("aclGetViewShape", [this](Handle h) { return aclGetViewShape(as<aclTensor>(h), &dims_, &bytes_); });
  tensor("aclGetStorageShape",
         [this](Handle h) { return aclGetStorageShape(as<aclTensor>(h), &dims_, &bytes_); });
  tensor("aclGetViewStrides",
         [this](Handle h) { return aclGetViewStrides(as<aclTensor>(h), &dims_, &bytes_); });
  tensor("aclGetViewOffset", [](Handle h) {
    int64_t offset = 0;
    return aclGetViewOffset(as<aclTensor>(h), &offset);
  });
  tensor("aclGetDataType", [](Handle h) {
    aclDataType dtype;
    return aclGetDataType(as<aclTensor>(h), &dtype);
  });
  tensor("aclGetFormat", [](Handle h) {
    aclFormat format;
    return aclGetFormat(as<aclTensor>(h), &format);
  });
  tensor("aclGetRawTensorAddr", [](Handle h) {
    void* address = nullptr;
    return aclGetRawTensorAddr(as<aclTensor>(h), &address);
  });
  tensor("aclSetRawTensorAddr", [](Handle h) { return aclSetRawTensorAddr(as<aclTensor>(h), nullptr); });
  tensor("aclInitTensor", [](Handle h) {
    return aclInitTensor(as<aclTensor>(h), nullptr, 0, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0,
                         nullptr);
  });
  for (size_t k = 0; k < 6; ++k) tensor("EmaAdam phase 1", [this, k](Handle h) { return phase1_with(k, h); });
  for (size_t k = 0; k < 3; ++k)
    tensor("Embedding phase 1", [this, k](Handle h) { return embedding_with(k, h); });
  add("aclDestroyTensor", 'T', 0, 161002, [this](Handle h) { return destroy('T', h); });
  add("aclDestroyScalar", 'C', 0, 161002, [this](Handle h) { return destroy('C', h); });
  add("aclDestroyIntArray", 'I', 0, 161002, [this](Handle h) { return destroy('I', h); });
  add("aclDestroyFloatArray", 'F', 0, 161002, [this](Handle h) { return destroy('F', h); });
  add("aclDestroyBoolArray", 'B', 0, 161002, [this](Handle h) { return destroy('B', h); });
  add("aclDestroyTensorList", 'L', 0, 161002, [this](Handle h) { return destroy('L', h); });
  add("aclDestroyScalarList", 'K', 0, 161002, [this](Handle h) { return destroy('K', h); });
  add("aclGetIntArraySize", 'I', 161001, 161002,
      [this](Handle h) { return aclGetIntArraySize(as<aclIntArray>(h), &bytes_); });
  add("aclGetFloatArraySize", 'F', 161001, 161002,
      [this](Handle h) { return aclGetFloatArraySize(as<aclFloatArray>(h), &bytes_); });
  add("aclGetBoolArraySize", 'B', 161001, 161002,
      [this](Handle h) { return aclGetBoolArraySize(as<aclBoolArray>(h), &bytes_); });
  add("aclGetTensorListSize", 'L', 161001, 161002,
      [this](Handle h) { return aclGetTensorListSize(as<aclTensorList>(h), &bytes_); });
  add("aclGetScalarListSize", 'K', 161001, 161002,
      [this](Handle h) { return aclGetScalarListSize(as<aclScalarList>(h), &bytes_); });
  add("aclCreateTensorList", 'T', 161001, 161002, [](Handle h) {
    const aclTensor* elements[] = {as<aclTensor>(h)};
    const aclTensorList* list = aclCreateTensorList(elements, 1);
    (void)aclDestroyTensorList(list);
    return list != nullptr ? 0 : h == nullptr ? 161001 : 161002;  // the text is checked against these
  });

  add("aclSetAclOpExecutorRepeatable", 'E', 561103, 561000,
      [](Handle h) { return aclSetAclOpExecutorRepeatable(as<aclOpExecutor>(h)); });
  add("aclDestroyAclOpExecutor", 'E', 561103, 561000, [this](Handle h) { return destroy('E', h); });
  add("aclnnApplyFusedEmaAdam", 'E', 161001, 561000,
      [](Handle h) { return aclnnApplyFusedEmaAdam(nullptr, 0, as<aclOpExecutor>(h), nullptr); });
  add("aclnnEmbedding", 'E', 161001, 561000,
      [](Handle h) { return aclnnEmbedding(nullptr, 0, as<aclOpExecutor>(h), nullptr); });
  for (auto* set : {aclSetTensorAddr, aclSetInputTensorAddr, aclSetOutputTensorAddr, AclSetTensorAddr,
                    AclSetInputTensorAddr, AclSetOutputTensorAddr}) {
    add("aclSet…TensorAddr, executor", 'E', 561103, 561000,
        [this, set](Handle h) { return set(as<aclOpExecutor>(h), 0, counter_.tensor(0), counter_.grad()); });
    add("aclSet…TensorAddr, tensor", 'T', 561103, 161002, [this, set](Handle h) {
      aclOpExecutor* executor = counter_.planned();
      const int code = set(executor, 0, as<aclTensor>(h), &data_);
      (void)aclDestroyAclOpExecutor(executor);
      return code;
    });
  }
  for (auto* set : {aclSetDynamicTensorAddr, aclSetDynamicInputTensorAddr, aclSetDynamicOutputTensorAddr,
                    AclSetDynamicTensorAddr, AclSetDynamicInputTensorAddr, AclSetDynamicOutputTensorAddr}) {
    add("aclSetDynamic…", 'E', 561103, 561000, [set](Handle h) {
      return set(as<aclOpExecutor>(h), 0, 0, reinterpret_cast<aclTensorList*>(1), nullptr);
    });
  }

  const auto runtime = [this](const char* name, char kind, auto function) {
    add(name, kind, 100000, 107017, function);
  };
  runtime("aclrtDestroyStream", 'S', [](Handle h) { return aclrtDestroyStream(h); });
  runtime("aclrtDestroyStreamForce", 'S', [](Handle h) { return aclrtDestroyStreamForce(h); });
  runtime("aclrtDestroyEvent", 'V', [](Handle h) { return aclrtDestroyEvent(h); });
  runtime("aclrtDestroyContext", 'X', [](Handle h) { return aclrtDestroyContext(h); });
  runtime("aclrtSetCurrentContext", 'X', [](Handle h) { return aclrtSetCurrentContext(h); });
  runtime("aclrtRecordEvent", 'V', [](Handle h) { return aclrtRecordEvent(h, nullptr); });
  runtime("aclrtResetEvent", 'V', [](Handle h) { return aclrtResetEvent(h, nullptr); });
  runtime("aclrtStreamWaitEvent", 'V', [](Handle h) { return aclrtStreamWaitEvent(nullptr, h); });
  runtime("aclrtSynchronizeEvent", 'V', [](Handle h) { return aclrtSynchronizeEvent(h); });
  runtime("aclrtSynchronizeEventWithTimeout", 'V',
          [](Handle h) { return aclrtSynchronizeEventWithTimeout(h, 1); });
  runtime("aclrtQueryEvent", 'V', [](Handle h) {
    aclrtEventStatus status;
    return aclrtQueryEvent(h, &status);
  });
  runtime("aclrtQueryEventStatus", 'V', [](Handle h) {
    aclrtEventRecordedStatus status;
    return aclrtQueryEventStatus(h, &status);
  });
  runtime("aclrtQueryEventWaitStatus", 'V', [](Handle h) {
    aclrtEventWaitStatus status;
    return aclrtQueryEventWaitStatus(h, &status);
  });
  for (bool start : {false, true}) {
    runtime("aclrtEventElapsedTime", 'V', [this, start](Handle h) {
      float ms = 0;
      aclrtEvent other = new_event();
      const int code = start ? aclrtEventElapsedTime(&ms, h, other) : aclrtEventElapsedTime(&ms, other, h);
      (void)aclrtDestroyEvent(other);
      return code;
    });
  }
  // NULL is the default stream.
  const auto stream_door = [this](const char* name, auto function) { add(name, 'S', 0, 107017, function); };
  stream_door("aclrtSynchronizeStream", [](Handle h) { return aclrtSynchronizeStream(h); });
  stream_door("aclrtSynchronizeStreamWithTimeout",
              [](Handle h) { return aclrtSynchronizeStreamWithTimeout(h, 60000); });
  stream_door("aclrtStreamQuery", [](Handle h) {
    aclrtStreamStatus status;
    return aclrtStreamQuery(h, &status);
  });
  stream_door("aclrtMemsetAsync", [this](Handle h) { return aclrtMemsetAsync(&data_, 4, 0, 4, h); });
  stream_door("aclrtMemcpyAsync", [this](Handle h) {
    return aclrtMemcpyAsync(&data_, 4, counter_.grad(), 4, ACL_MEMCPY_DEFAULT, h);
  });
  stream_door("phase 2", [this](Handle h) { return counter_.add(h); });
  const auto with_event = [this](auto function) {
    return [this, function](Handle h) {
      aclrtEvent event = new_event();
      (void)aclrtRecordEvent(event, stream);
      const int code = function(event, h);
      (void)aclrtDestroyEvent(event);
      return code;
    };
  };
  stream_door("aclrtRecordEvent, stream",
              with_event([](Handle event, Handle h) { return aclrtRecordEvent(event, h); }));
  stream_door("aclrtResetEvent, stream",
              with_event([](Handle event, Handle h) { return aclrtResetEvent(event, h); }));
  stream_door("aclrtStreamWaitEvent, stream",
              with_event([](Handle event, Handle h) { return aclrtStreamWaitEvent(h, event); }));
}

TEST_F(HandlesTest, Null) {
  for (const Door& door : doors) {
    SCOPED_TRACE(door.name);
    expect(door.null_code, door.call(nullptr));
  }
  expect(0, aclrtSynchronizeDevice());
}

TEST_F(HandlesTest, StaleOnes) {
  for (const Door& door : doors) {
    SCOPED_TRACE(door.name);
    const Handle handle = make(door.kind);
    expect(0, destroy(door.kind, handle));
    expect(door.stale_code, door.call(handle));
    const Handle newer = make(door.kind);  // most likely in the same slot
    EXPECT_NE(newer, handle);
    expect(door.stale_code, door.call(handle));
    expect(0, destroy(door.kind, newer));
  }
}

TEST_F(HandlesTest, OtherKinds) {
  for (const char* kind = kKinds; *kind != '\0'; ++kind) {
    const Handle handle = make(*kind);
    ASSERT_NE(handle, nullptr);
    for (const Door& door : doors) {
      SCOPED_TRACE(std::string(door.name) + " with " + *kind);
      if (door.kind != *kind) expect(door.stale_code, door.call(handle));
    }
    expect(0, destroy(*kind, handle));  // nothing above ended it
  }
}

TEST_F(HandlesTest, RandomBitsAreNeverAccepted) {
  // Live objects of all kinds, so that there is something to hit.
  std::vector<Handle> live;
  for (const char* kind = kKinds; *kind != '\0'; ++kind) live.push_back(make(*kind));
  constexpr uint64_t kValues = kThreadSanitizer ? uint64_t{1} << 17 : uint64_t{1} << 20;
  uint64_t state = 0x9E3779B97F4A7C15u;
  uint64_t accepted = 0;
  for (uint64_t k = 0; k < kValues; ++k) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const Door& door = doors[k % doors.size()];
    uint64_t bits = state;
    if (k % 4 == 1)
      bits = (bits & ~(uint64_t{0xFF} << 56)) | static_cast<uint64_t>(door.kind) << 56;  // the right kind
    if (k % 4 ==
        2) {  // a live handle with one bit of its generation flipped; other bits could name another live object
      bits = reinterpret_cast<uint64_t>(live[(bits >> 40) % live.size()]) ^ uint64_t { 1 }
                                                                                << (28 + bits % 28);
    }
    if (k % 4 == 3) bits &= 0xFFFF;  // small numbers
    if (bits == 0) continue;
    (void)aclGetRecentErrMsg();
    if (door.call(reinterpret_cast<Handle>(bits)) != door.stale_code) {
      ++accepted;
      ADD_FAILURE() << door.name << " accepted " << std::hex << bits;
    }
  }
  EXPECT_EQ(accepted, 0u);
  (void)aclGetRecentErrMsg();
  for (size_t k = 0; k < live.size(); ++k) expect(0, destroy(kKinds[k], live[k]));
}

TEST_F(HandlesTest, AReusedSlotNeverRevivesAHandle) {
  std::vector<const aclTensor*> old;
  for (int k = 0; k < 20000; ++k) {
    const aclTensor* tensor = make_tensor({1}, ACL_FLOAT, nullptr);
    for (const aclTensor* earlier :
         {old.empty() ? nullptr : old.back(), old.empty() ? nullptr : old.front()}) {
      EXPECT_NE(tensor, earlier);
    }
    expect(0, aclDestroyTensor(tensor));
    old.push_back(tensor);
  }
  const aclTensor* live = make_tensor({1}, ACL_FLOAT, nullptr);
  for (const aclTensor* tensor : old) ASSERT_EQ(aclDestroyTensor(tensor), 161002);
  (void)aclGetRecentErrMsg();
  expect(0, aclDestroyTensor(live));
}

}  // namespace
