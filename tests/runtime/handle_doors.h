// Every parameter where a handle enters the library, as a list of doors, for tests of invalid handles.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ops/room_schemas.h"
#include "runtime/counter.h"
#include "runtime/runtime_test.h"

namespace runtime_test {

using Handle = void*;

// One function with one handle parameter; the other arguments are valid.
struct Door {
  std::string name;  // name of the exported function; the text after a comma names one of its handles
  char kind;         // of the handle it wants
  int null_code;     // code for NULL
  int stale_code;    // code for handles that are not live
  std::function<int(Handle)> call;

  std::string function() const { return name.substr(0, name.find(',')); }
};

class HandlesTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    make_doors();
    make_operator_doors();
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
      case 'M': expect(0, aclrtMalloc(&handle, 64, ACL_MEM_MALLOC_HUGE_FIRST)); return handle;
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
      case 'M': return aclrtFree(handle);
      default: return aclrtDestroyContext(handle);
    }
  }
  static constexpr char kKinds[] = "TCIFBLKESVX";

  void add(std::string name, char kind, int null_code, int stale_code, std::function<int(Handle)> call) {
    doors.push_back({std::move(name), kind, null_code, stale_code, std::move(call)});
  }
  template <class T>
  static T* as(Handle handle) {
    return static_cast<T*>(handle);
  }
  void make_doors();           // of the runtime
  void make_operator_doors();  // of the two phases of every operator

  std::vector<Door> doors;
  Counter counter_;
  float data_ = 0;
  uint64_t bytes_ = 0;
  int64_t* dims_ = nullptr;
  std::vector<openaclnn_test::Schema> schemas_ = openaclnn_test::all_schemas();
};

}  // namespace runtime_test
