// The doors: every parameter by value of type size_t, uint64_t or int64_t of every exported function.
#include "runtime/size_doors.h"

#include <memory>

#include "aclnn/acl_meta.h"
#include "openaclnn/apply_fused_ema_adam_list.h"
#include "openaclnn/openaclnn.h"
#include "support/schema_model.h"
#include "verify/room_descriptions.h"

namespace runtime_test {

namespace {

constexpr uint64_t kHalf = uint64_t{1} << 63;

using Codes = std::vector<int>;

// The codes that are valid for `value` if at most `most` is accepted.
Codes at_most(uint64_t value, uint64_t most, int refusal) { return {value <= most ? 0 : refusal}; }

int created(const void* object, int (*destroy)(const void*)) {
  if (object != nullptr) return destroy(object);
  const char* const text = aclGetRecentErrMsg();
  const std::string newest = text != nullptr ? text : "";
  const size_t at = newest.find(" [");
  return at == std::string::npos ? -1 : std::atoi(newest.c_str() + at + 2);
}

template <class T, aclnnStatus (*kDestroy)(const T*)>
int destroy(const void* object) {
  return kDestroy(static_cast<const T*>(object));
}

}  // namespace

// The next passage uses the same memory, often without a stream.
int SizeDoorsTest::finished(int code) const {
  if (code == 0) expect(0, aclrtSynchronizeStream(stream));
  return code;
}

void SizeDoorsTest::SetUp() {
  RuntimeTest::SetUp();
  expect(0, aclrtMalloc(&block_, 32, ACL_MEM_MALLOC_HUGE_FIRST));  // 64 are usable
  add_memory_doors();
  add_copy_doors();
  add_row_copy_doors();
  add_object_doors();
  add_address_doors();
  add_other_doors();
  add_operator_doors();
}

void SizeDoorsTest::TearDown() {
  (void)aclGetRecentErrMsg();
  expect(0, aclrtSynchronizeStream(stream));
  expect(0, aclrtFree(block_));
  RuntimeTest::TearDown();
}

void SizeDoorsTest::add_memory_doors() {
  const auto allocation = [this](const char* name, auto allocate, auto free) {
    add(name, "size", [=](uint64_t size) {
      void* made = nullptr;
      const int code = allocate(&made, size);
      if (code == 0) (void)free(made);
      // The number of available gigabytes depends on the machine.
      const Codes accepted = size == 0          ? Codes{100000}
                             : size == 1        ? Codes{0}
                             : size < kHalf - 1 ? Codes{0, 207001}
                                                : Codes{207001};
      return Passage{code, accepted};
    });
  };
  allocation(
      "aclrtMalloc", [](void** p, size_t n) { return aclrtMalloc(p, n, ACL_MEM_MALLOC_HUGE_FIRST); },
      aclrtFree);
  allocation(
      "aclrtMallocAlign32",
      [](void** p, size_t n) { return aclrtMallocAlign32(p, n, ACL_MEM_MALLOC_HUGE_FIRST); }, aclrtFree);
  allocation(
      "aclrtMallocCached",
      [](void** p, size_t n) { return aclrtMallocCached(p, n, ACL_MEM_MALLOC_HUGE_FIRST); }, aclrtFree);
  allocation(
      "aclrtMallocHost", [](void** p, size_t n) { return aclrtMallocHost(p, n); }, aclrtFreeHost);

  const auto fill = [this](const char* name, auto set) {
    add(name, "maxCount", [=, this](uint64_t capacity) {
      return Passage{set(block_, capacity, 1), {capacity == 0 ? 107000 : 0}};
    });
    add(
        name, "count",
        [=, this](uint64_t count) {
          return Passage{set(block_, SIZE_MAX, count), at_most(count, 64, 107000)};
        },
        "memory of the library");
    add(
        name, "count",
        [=, this](uint64_t count) {
          // The library cannot know the size of this memory, except that nothing can have so many bytes.
          if (count > 1 && count < kHalf) return Passage{0, {0}};
          return Passage{set(unknown_, SIZE_MAX, count), at_most(count, 1, 107000)};
        },
        "memory of the program");
  };
  fill("aclrtMemset",
       [](void* p, size_t capacity, size_t count) { return aclrtMemset(p, capacity, 0, count); });
  fill("aclrtMemsetAsync", [this](void* p, size_t capacity, size_t count) {
    return finished(aclrtMemsetAsync(p, capacity, 0, count, stream));
  });
}

void SizeDoorsTest::add_copy_doors() {
  const auto copy = [this](const char* name, auto copy_bytes) {
    add(name, "destMax", [=, this](uint64_t capacity) {
      return Passage{copy_bytes(block_, capacity, unknown_, 1), {capacity == 0 ? 107000 : 0}};
    });
    // The side that the library knows decides.
    add(
        name, "count",
        [=, this](uint64_t count) {
          return Passage{copy_bytes(block_, SIZE_MAX, unknown_, count), at_most(count, 64, 107000)};
        },
        "to memory of the library");
    add(
        name, "count",
        [=, this](uint64_t count) {
          return Passage{copy_bytes(unknown_, SIZE_MAX, block_, count), at_most(count, 64, 107000)};
        },
        "from memory of the library");
    add(
        name, "count",
        [=, this](uint64_t count) {
          if (count > 1 && count < kHalf) return Passage{0, {0}};
          return Passage{copy_bytes(unknown_, SIZE_MAX, &counter_, count), at_most(count, 1, 107000)};
        },
        "memory of the program");
    add(
        name, "count",
        [=, this](uint64_t count) {
          return Passage{copy_bytes(block_, SIZE_MAX, block_, count), at_most(count, kHalf - 1, 107000)};
        },
        "onto itself");
  };
  copy("aclrtMemcpy", [](void* to, size_t capacity, const void* from, size_t count) {
    return aclrtMemcpy(to, capacity, from, count, ACL_MEMCPY_DEFAULT);
  });
  copy("aclrtMemcpyAsync", [this](void* to, size_t capacity, const void* from, size_t count) {
    return finished(aclrtMemcpyAsync(to, capacity, from, count, ACL_MEMCPY_DEFAULT, stream));
  });
}

void SizeDoorsTest::add_row_copy_doors() {
  const auto copy = [this](const char* name, uint64_t most_rows, auto copy_rows) {
    // Two rows of one byte, and one row of any width.
    add(name, "dpitch", [=, this](uint64_t pitch) {
      const bool fits = pitch >= 1 && pitch < 64;
      return Passage{copy_rows(block_, pitch, unknown_, 1, 1, 2), {fits ? 0 : 107000}};
    });
    add(name, "spitch", [=, this](uint64_t pitch) {
      const bool fits = pitch >= 1 && pitch < 64;
      return Passage{copy_rows(unknown_, 1, block_, pitch, 1, 2), {fits ? 0 : 107000}};
    });
    add(
        name, "width",
        [=, this](uint64_t width) {
          return Passage{copy_rows(block_, SIZE_MAX, unknown_, SIZE_MAX, width, 0), {0}};
        },
        "no rows");
    add(name, "width", [=, this](uint64_t width) {
      return Passage{copy_rows(block_, kHalf - 1, unknown_, kHalf - 1, width, 1), at_most(width, 64, 107000)};
    });
    add(name, "height", [=, this](uint64_t height) {
      return Passage{copy_rows(block_, 1, unknown_, 1, 1, height), at_most(height, 64, 107000)};
    });
    add(
        name, "height",
        [=, this](uint64_t height) {
          return Passage{copy_rows(block_, 0, unknown_, 0, 0, height), at_most(height, most_rows, 107000)};
        },
        "empty rows");
  };
  copy("aclrtMemcpy2d", UINT64_MAX,
       [](void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height) {
         return aclrtMemcpy2d(to, to_pitch, from, from_pitch, width, height, ACL_MEMCPY_HOST_TO_DEVICE);
       });
  copy("aclrtMemcpy2dAsync", 5242880,
       [this](void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height) {
         return finished(aclrtMemcpy2dAsync(to, to_pitch, from, from_pitch, width, height,
                                            ACL_MEMCPY_HOST_TO_DEVICE, stream));
       });
}

void SizeDoorsTest::add_object_doors() {
  constexpr uint64_t kMostRank = 64;
  constexpr uint64_t kMostEntries = INT32_MAX;
  static constexpr int64_t kOnes[kMostRank] = {1};
  // A dim or stride is also a size, although it is in an array.
  static int64_t one_dim[1];
  using Make =
      std::function<int(const int64_t*, uint64_t, const int64_t*, int64_t, const int64_t*, uint64_t)>;
  const auto tensor = [this](const char* name, const Make& make) {
    add(name, "viewDimsNum", [=](uint64_t n) {
      return Passage{make(kOnes, n, nullptr, 0, kOnes, 1), at_most(n, kMostRank, 161002)};
    });
    add(name, "storageDimsNum", [=](uint64_t n) {
      return Passage{make(kOnes, 1, nullptr, 0, kOnes, n), at_most(n, kMostRank, 161002)};
    });
    add(name, "offset", [=](uint64_t n) {
      return Passage{make(kOnes, 1, nullptr, static_cast<int64_t>(n), kOnes, 1), {0}};
    });
    for (const int which : {0, 1, 2}) {
      add(name,
          which == 0   ? "viewDims"
          : which == 1 ? "stride"
                       : "storageDims",
          [=](uint64_t n) {
            one_dim[0] = static_cast<int64_t>(n);
            return Passage{make(which == 0 ? one_dim : kOnes, 1, which == 1 ? one_dim : nullptr, 0,
                                which == 2 ? one_dim : kOnes, 1),
                           {0}};
          });
    }
  };
  tensor("aclCreateTensor", [](const int64_t* dims, uint64_t rank, const int64_t* strides, int64_t offset,
                               const int64_t* storage, uint64_t storage_rank) {
    return created(aclCreateTensor(dims, rank, ACL_FLOAT, strides, offset, ACL_FORMAT_ND, storage,
                                   storage_rank, nullptr),
                   destroy<aclTensor, aclDestroyTensor>);
  });
  tensor("aclInitTensor", [](const int64_t* dims, uint64_t rank, const int64_t* strides, int64_t offset,
                             const int64_t* storage, uint64_t storage_rank) {
    aclTensor* const made = make_tensor({1}, ACL_FLOAT, nullptr);
    const int code = aclInitTensor(made, dims, rank, ACL_FLOAT, strides, offset, ACL_FORMAT_ND, storage,
                                   storage_rank, nullptr);
    (void)aclDestroyTensor(made);
    return code;
  });

  static constexpr float kFloat[1] = {1};
  static constexpr bool kBool[1] = {true};
  const auto array = [this](const char* name, auto create, int (*end)(const void*)) {
    add(name, "size", [=](uint64_t n) {
      return Passage{created(create(n), end), at_most(n, kMostEntries, 161002)};
    });
  };
  array(
      "aclCreateIntArray", [](uint64_t n) { return aclCreateIntArray(kOnes, n); },
      destroy<aclIntArray, aclDestroyIntArray>);
  array(
      "aclCreateFloatArray", [](uint64_t n) { return aclCreateFloatArray(kFloat, n); },
      destroy<aclFloatArray, aclDestroyFloatArray>);
  array(
      "aclCreateBoolArray", [](uint64_t n) { return aclCreateBoolArray(kBool, n); },
      destroy<aclBoolArray, aclDestroyBoolArray>);
  array(
      "aclCreateTensorList",
      [](uint64_t n) {
        const aclTensor* element = make_tensor({1}, ACL_FLOAT, nullptr);
        aclTensorList* const list = aclCreateTensorList(&element, n);
        if (list == nullptr || n == 0) (void)aclDestroyTensor(element);
        return list;
      },
      destroy<aclTensorList, aclDestroyTensorList>);
  array(
      "aclCreateScalarList",
      [](uint64_t n) {
        float value = 1;
        const aclScalar* element = aclCreateScalar(&value, ACL_FLOAT);
        aclScalarList* const list = aclCreateScalarList(&element, n);
        if (list == nullptr || n == 0) (void)aclDestroyScalar(element);
        return list;
      },
      destroy<aclScalarList, aclDestroyScalarList>);
}

void SizeDoorsTest::add_address_doors() {
  const auto tensor = [this](const std::string& name, auto* set) {
    add(name, "index", [=, this](uint64_t index) {
      aclOpExecutor* const executor = counter_.planned();
      const int code = set(executor, index, counter_.tensor(0), counter_.grad());
      (void)aclDestroyAclOpExecutor(executor);
      return Passage{code, at_most(index, 1, 161002)};
    });
  };
  tensor("aclSetTensorAddr", aclSetTensorAddr);
  tensor("aclSetInputTensorAddr", aclSetInputTensorAddr);
  tensor("aclSetOutputTensorAddr", aclSetOutputTensorAddr);
  tensor("AclSetTensorAddr", AclSetTensorAddr);
  tensor("AclSetInputTensorAddr", AclSetInputTensorAddr);
  tensor("AclSetOutputTensorAddr", AclSetOutputTensorAddr);
  // Element 0 of a list of one tensor, at every index; and every element of the list at index 1, varRefs or, of the outputs, mRefs.
  const auto list = [this](const std::string& name, auto* set) {
    for (const bool is_element : {false, true}) {
      add(name, is_element ? "relativeIndex" : "irIndex", [=](uint64_t value) {
        std::vector<aclTensorList*> lists;
        for (int k = 0; k < 5; ++k) {
          const aclTensor* element = make_tensor({1}, ACL_FLOAT, nullptr);
          lists.push_back(aclCreateTensorList(&element, 1));
        }
        uint64_t bytes = 0;
        aclOpExecutor* executor = nullptr;
        aclTensor* const step = make_tensor({1}, ACL_INT64, nullptr);
        int code = openaclnnApplyFusedEmaAdamListGetWorkspaceSize(
            lists[0], lists[1], lists[2], lists[3], lists[4], nullptr, step, nullptr, nullptr, 1, 0, 0, 0, 0,
            1, false, 0, &bytes, &executor);
        float data = 0;
        if (code == 0) code = set(executor, is_element ? 1 : value, is_element ? value : 0, lists[1], &data);
        if (executor != nullptr) (void)aclDestroyAclOpExecutor(executor);
        for (const aclTensorList* made : lists) (void)aclDestroyTensorList(made);
        (void)aclDestroyTensor(step);
        return Passage{code, at_most(value, is_element ? 0 : 1, 161002)};
      });
    }
  };
  list("aclSetDynamicTensorAddr", aclSetDynamicTensorAddr);
  list("aclSetDynamicInputTensorAddr", aclSetDynamicInputTensorAddr);
  list("aclSetDynamicOutputTensorAddr", aclSetDynamicOutputTensorAddr);
  list("AclSetDynamicTensorAddr", AclSetDynamicTensorAddr);
  list("AclSetDynamicInputTensorAddr", AclSetDynamicInputTensorAddr);
  list("AclSetDynamicOutputTensorAddr", AclSetDynamicOutputTensorAddr);
}

void SizeDoorsTest::add_other_doors() {
  // It does nothing, with any argument: no acl.json asks for dumps.
  add("aclDumpOpTensors", "inputTensorNum", [](uint64_t n) {
    return Passage{aclDumpOpTensors("", "", nullptr, n, 0, nullptr), {0}};
  });
  add("aclDumpOpTensors", "outputTensorNum", [](uint64_t n) {
    return Passage{aclDumpOpTensors("", "", nullptr, 0, n, nullptr), {0}};
  });
  add("openaclnnDescribe", "capacity", [](uint64_t capacity) {
    static char text[1 << 16];  // more than the whole text
    uint64_t length = 0;
    const int code = openaclnnDescribe(text, capacity, &length);
    return Passage{length < sizeof text ? code : -1, {0}};
  });
  add("aclrtSetSysParamOpt", "value", [](uint64_t n) {
    const int code = aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, static_cast<int64_t>(n));
    (void)aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 0);
    return Passage{code, {0}};
  });
  add("aclrtCtxSetSysParamOpt", "value", [](uint64_t n) {
    const int code = aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, static_cast<int64_t>(n));
    (void)aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 0);
    return Passage{code, {0}};
  });
}

void SizeDoorsTest::add_operator_doors() {
  using openaclnn_test::CallArguments;
  using openaclnn_test::CallHandles;
  for (const openaclnn_test::Schema& schema : schemas_) {
    // The model of the negative tables gives the code of each value.
    for (const size_t attribute : schema.attributes) {
      add(schema.function, schema.number_names[attribute], [&schema, attribute](uint64_t value) {
        CallArguments call = schema.valid;
        call.numbers[attribute] = static_cast<int64_t>(value);
        return Passage{schema.run(call).phase1, {openaclnn_test::verdict_of(schema, call).code}};
      });
    }
    // Runs phase 2 of a call whose tensors have no memory: it is rejected for any size of the workspace.
    const openaclnn_verify::Description* const description =
        openaclnn_verify::find_description(schema.function);
    ASSERT_NE(description, nullptr) << schema.function;
    const openaclnn_verify::Phase2 phase2 = description->phase2;
    add(description->function, "workspaceSize", [&schema, phase2](uint64_t size) {
      int code = -1;
      uint64_t required = 0;
      (void)openaclnn_test::run_phase1(
          schema.valid, [&](const CallHandles& call, uint64_t* bytes, aclOpExecutor** executor) {
            const int planned = schema.phase1(call, bytes, executor);
            if (planned != 0) return planned;
            static char workspace[64];
            required = *bytes;
            code = phase2(workspace, size, *executor, nullptr);
            *executor = nullptr;  // consumed, also by a rejected call
            return 0;
          });
      return Passage{code, {size < required ? 161002 : 161001}};
    });
  }
}

}  // namespace runtime_test
