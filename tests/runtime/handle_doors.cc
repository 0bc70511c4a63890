// The doors of the runtime: objects, streams, events, contexts and addresses.
#include "runtime/handle_doors.h"

namespace runtime_test {

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
    return list != nullptr ? 0 : h == nullptr ? 161001 : 161002;  // the text is compared with these
  });

  add("aclCreateScalarList", 'C', 161001, 161002, [](Handle h) {
    const aclScalar* elements[] = {as<aclScalar>(h)};
    const aclScalarList* list = aclCreateScalarList(elements, 1);
    (void)aclDestroyScalarList(list);
    return list != nullptr ? 0 : h == nullptr ? 161001 : 161002;
  });
  // Addresses are also looked up.
  add("aclrtFree", 'M', 100000, 107000, [](Handle h) { return aclrtFree(h); });
  add("aclrtFreeHost", 'M', 100000, 107000, [](Handle h) { return aclrtFreeHost(h); });

  add("aclSetAclOpExecutorRepeatable", 'E', 561103, 561000,
      [](Handle h) { return aclSetAclOpExecutorRepeatable(as<aclOpExecutor>(h)); });
  add("aclDestroyAclOpExecutor", 'E', 561103, 561000, [this](Handle h) { return destroy('E', h); });
  const auto address_setter = [this](const std::string& name, auto* set) {
    add(name, 'E', 561103, 561000,
        [this, set](Handle h) { return set(as<aclOpExecutor>(h), 0, counter_.tensor(0), counter_.grad()); });
    add(name + ", tensor", 'T', 561103, 161002, [this, set](Handle h) {
      aclOpExecutor* executor = counter_.planned();
      const int code = set(executor, 0, as<aclTensor>(h), &data_);
      (void)aclDestroyAclOpExecutor(executor);
      return code;
    });
  };
  address_setter("aclSetTensorAddr", aclSetTensorAddr);
  address_setter("aclSetInputTensorAddr", aclSetInputTensorAddr);
  address_setter("aclSetOutputTensorAddr", aclSetOutputTensorAddr);
  address_setter("AclSetTensorAddr", AclSetTensorAddr);
  address_setter("AclSetInputTensorAddr", AclSetInputTensorAddr);
  address_setter("AclSetOutputTensorAddr", AclSetOutputTensorAddr);
  const auto list_address_setter = [this](const std::string& name, auto* set) {
    add(name, 'E', 561103, 561000, [set](Handle h) {
      return set(as<aclOpExecutor>(h), 0, 0, reinterpret_cast<aclTensorList*>(1), nullptr);
    });
    add(name + ", list", 'L', 561103, 161002, [this, set](Handle h) {
      aclOpExecutor* executor = counter_.planned();
      const int code = set(executor, 0, 0, as<aclTensorList>(h), &data_);
      (void)aclDestroyAclOpExecutor(executor);
      return code;
    });
  };
  list_address_setter("aclSetDynamicTensorAddr", aclSetDynamicTensorAddr);
  list_address_setter("aclSetDynamicInputTensorAddr", aclSetDynamicInputTensorAddr);
  list_address_setter("aclSetDynamicOutputTensorAddr", aclSetDynamicOutputTensorAddr);
  list_address_setter("AclSetDynamicTensorAddr", AclSetDynamicTensorAddr);
  list_address_setter("AclSetDynamicInputTensorAddr", AclSetDynamicInputTensorAddr);
  list_address_setter("AclSetDynamicOutputTensorAddr", AclSetDynamicOutputTensorAddr);

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
    runtime("aclrtEventElapsedTime", 'V', [start](Handle h) {
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
  stream_door("aclrtMemcpy2dAsync", [this](Handle h) {
    return aclrtMemcpy2dAsync(&data_, 2, counter_.grad(), 2, 2, 2, ACL_MEMCPY_DEVICE_TO_HOST, h);
  });
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

}  // namespace runtime_test
