// Tests every type, value, macro and prototype of the public headers against a second copy, so that no
// typing error and no edit of a header stays unnoticed.
//
// Host programs are compiled against these numbers, so existing values must never change.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnn/aclnn_base.h"
#include "aclnnop/aclnn_util.h"
#include "openaclnn/status.h"

namespace {

template <class A, class B>
constexpr bool same = std::is_same_v<A, B>;

// --- Types ---

static_assert(same<aclError, int>);
static_assert(same<aclnnStatus, int32_t>);
static_assert(same<aclFloat16, uint16_t> && sizeof(aclFloat16) == 2);
static_assert(same<aclrtStream, void*> && same<aclrtEvent, void*> && same<aclrtContext, void*>);
static_assert(same<decltype(OK), const aclnnStatus> && OK == 0);

template <class T, class = void>
struct IsComplete : std::false_type {};
template <class T>
struct IsComplete<T, std::void_t<decltype(sizeof(T))>> : std::true_type {};
template <class... T>
constexpr bool all_opaque = ((std::is_class_v<T> && !IsComplete<T>::value) && ...);
static_assert(all_opaque<aclTensor, aclScalar, aclIntArray, aclFloatArray, aclBoolArray, aclTensorList,
                         aclScalarList, aclOpExecutor>);

// Enums are unscoped (they convert to int) and have the size that C gives them.
template <class... E>
constexpr bool all_c_enums =
    ((std::is_enum_v<E> && std::is_convertible_v<E, int> && sizeof(E) == sizeof(int)) && ...);
static_assert(all_c_enums<aclDataType, aclFormat, aclMemType, aclLogLevel, aclCannAttr, aclDeviceInfo,
                          aclrtRunMode, aclrtMemcpyKind, aclrtMemMallocPolicy, aclrtMemAttr,
                          aclrtStreamStatus, aclrtEventStatus, aclrtEventRecordedStatus, aclrtEventWaitStatus,
                          aclrtCallbackBlockType, aclSysParamOpt, aclrtLastErrLevel>);

// Each enumerator belongs to its enum, and callers may qualify it.
static_assert(same<decltype(ACL_FLOAT), aclDataType> && aclDataType::ACL_FLOAT == ACL_FLOAT);
static_assert(same<decltype(ACL_FORMAT_ND), aclFormat> && aclFormat::ACL_FORMAT_ND == ACL_FORMAT_ND);
static_assert(same<decltype(ACL_FRACTAL_Z_3D), aclFormat>);
static_assert(same<decltype(ACL_MEMTYPE_HOST), aclMemType>);
static_assert(same<decltype(ACL_ERROR), aclLogLevel>);
static_assert(same<decltype(ACL_CANN_ATTR_BF16), aclCannAttr>);
static_assert(same<decltype(ACL_DEVICE_INFO_L2_SIZE), aclDeviceInfo>);
static_assert(same<decltype(ACL_HOST), aclrtRunMode>);
static_assert(same<decltype(ACL_MEMCPY_DEFAULT), aclrtMemcpyKind>);
static_assert(same<decltype(ACL_MEM_MALLOC_HUGE_FIRST), aclrtMemMallocPolicy>);
static_assert(same<decltype(ACL_MEM_ACCESS_USER_SPACE_READONLY), aclrtMemMallocPolicy>);
static_assert(same<decltype(ACL_HBM_MEM), aclrtMemAttr> && same<decltype(ACL_MEM_P2P_HUGE1G), aclrtMemAttr>);
static_assert(same<decltype(ACL_STREAM_STATUS_COMPLETE), aclrtStreamStatus>);
static_assert(same<decltype(ACL_EVENT_STATUS_COMPLETE), aclrtEventStatus>);
static_assert(same<decltype(ACL_EVENT_RECORDED_STATUS_COMPLETE), aclrtEventRecordedStatus>);
static_assert(same<decltype(ACL_EVENT_WAIT_STATUS_COMPLETE), aclrtEventWaitStatus>);
static_assert(same<decltype(ACL_CALLBACK_BLOCK), aclrtCallbackBlockType>);
static_assert(same<decltype(ACL_OPT_DETERMINISTIC), aclSysParamOpt>);
static_assert(same<decltype(ACL_RT_THREAD_LEVEL), aclrtLastErrLevel>);
static_assert(same<decltype(ACL_SUCCESS), const int> && same<decltype(ACL_ERROR_INVALID_PARAM), const int>);

// The runtime and aclnn codes are macros: usable by the preprocessor.
#if ACL_RT_SUCCESS != 0 || ACL_ERROR_RT_CONTEXT_NULL != 107002 || ACLNN_ERR_PARAM_INVALID != 161002 || \
    ACL_MAJOR_VERSION != 1 || ACL_CONTINUE_ON_FAILURE != 0 || ACL_EVENT_TIME_LINE != 8 ||              \
    ACL_STREAM_FAST_SYNC != 2
#error "a code or flag is not a macro of the specified value"
#endif
#if !defined(ACL_FUNC_VISIBILITY) || !defined(ACLNN_API)
#error "an export mark is missing"
#endif

// --- Values ---

struct Value {
  const char* name;
  int64_t actual;
  int64_t specified;
};
#define VALUE(name, specified) \
  { #name, static_cast < int64_t>(name), specified }

void expect_values(const std::vector<Value>& values) {
  for (const Value& value : values) EXPECT_EQ(value.actual, value.specified) << value.name;
}

TEST(Door, DataTypes) {
  expect_values({VALUE(ACL_DT_UNDEFINED, -1), VALUE(ACL_FLOAT, 0),          VALUE(ACL_FLOAT16, 1),
                 VALUE(ACL_INT8, 2),          VALUE(ACL_INT32, 3),          VALUE(ACL_UINT8, 4),
                 VALUE(ACL_INT16, 6),         VALUE(ACL_UINT16, 7),         VALUE(ACL_UINT32, 8),
                 VALUE(ACL_INT64, 9),         VALUE(ACL_UINT64, 10),        VALUE(ACL_DOUBLE, 11),
                 VALUE(ACL_BOOL, 12),         VALUE(ACL_STRING, 13),        VALUE(ACL_COMPLEX64, 16),
                 VALUE(ACL_COMPLEX128, 17),   VALUE(ACL_BF16, 27),          VALUE(ACL_INT4, 29),
                 VALUE(ACL_UINT1, 30),        VALUE(ACL_COMPLEX32, 33),     VALUE(ACL_HIFLOAT8, 34),
                 VALUE(ACL_FLOAT8_E5M2, 35),  VALUE(ACL_FLOAT8_E4M3FN, 36), VALUE(ACL_FLOAT8_E8M0, 37),
                 VALUE(ACL_FLOAT6_E3M2, 38),  VALUE(ACL_FLOAT6_E2M3, 39),   VALUE(ACL_FLOAT4_E2M1, 40),
                 VALUE(ACL_FLOAT4_E1M2, 41)});
}

TEST(Door, Formats) {
  expect_values({VALUE(ACL_FORMAT_UNDEFINED, -1),
                 VALUE(ACL_FORMAT_NCHW, 0),
                 VALUE(ACL_FORMAT_NHWC, 1),
                 VALUE(ACL_FORMAT_ND, 2),
                 VALUE(ACL_FORMAT_NC1HWC0, 3),
                 VALUE(ACL_FORMAT_FRACTAL_Z, 4),
                 VALUE(ACL_FORMAT_NC1HWC0_C04, 12),
                 VALUE(ACL_FORMAT_HWCN, 16),
                 VALUE(ACL_FORMAT_NDHWC, 27),
                 VALUE(ACL_FORMAT_FRACTAL_NZ, 29),
                 VALUE(ACL_FORMAT_NCDHW, 30),
                 VALUE(ACL_FORMAT_NDC1HWC0, 32),
                 VALUE(ACL_FRACTAL_Z_3D, 33),
                 VALUE(ACL_FORMAT_NC, 35),
                 VALUE(ACL_FORMAT_NCL, 47),
                 VALUE(ACL_FORMAT_FRACTAL_NZ_C0_16, 50),
                 VALUE(ACL_FORMAT_FRACTAL_NZ_C0_32, 51),
                 VALUE(ACL_FORMAT_FRACTAL_NZ_C0_2, 52),
                 VALUE(ACL_FORMAT_FRACTAL_NZ_C0_4, 53),
                 VALUE(ACL_FORMAT_FRACTAL_NZ_C0_8, 54)});
}

TEST(Door, MemoryEnums) {
  expect_values({VALUE(ACL_MEMCPY_HOST_TO_HOST, 0), VALUE(ACL_MEMCPY_HOST_TO_DEVICE, 1),
                 VALUE(ACL_MEMCPY_DEVICE_TO_HOST, 2), VALUE(ACL_MEMCPY_DEVICE_TO_DEVICE, 3),
                 VALUE(ACL_MEMCPY_DEFAULT, 4), VALUE(ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, 5),
                 VALUE(ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, 6), VALUE(ACL_MEMCPY_INTER_DEVICE_TO_DEVICE, 7)});
  expect_values({VALUE(ACL_MEM_MALLOC_HUGE_FIRST, 0), VALUE(ACL_MEM_MALLOC_HUGE_ONLY, 1),
                 VALUE(ACL_MEM_MALLOC_NORMAL_ONLY, 2), VALUE(ACL_MEM_MALLOC_HUGE_FIRST_P2P, 3),
                 VALUE(ACL_MEM_MALLOC_HUGE_ONLY_P2P, 4), VALUE(ACL_MEM_MALLOC_NORMAL_ONLY_P2P, 5),
                 VALUE(ACL_MEM_MALLOC_HUGE1G_ONLY, 6), VALUE(ACL_MEM_MALLOC_HUGE1G_ONLY_P2P, 7),
                 VALUE(ACL_MEM_TYPE_LOW_BAND_WIDTH, 0x0100), VALUE(ACL_MEM_TYPE_HIGH_BAND_WIDTH, 0x1000),
                 VALUE(ACL_MEM_ACCESS_USER_SPACE_READONLY, 0x100000)});
  expect_values({VALUE(ACL_DDR_MEM, 0), VALUE(ACL_HBM_MEM, 1), VALUE(ACL_DDR_MEM_HUGE, 2),
                 VALUE(ACL_DDR_MEM_NORMAL, 3), VALUE(ACL_HBM_MEM_HUGE, 4), VALUE(ACL_HBM_MEM_NORMAL, 5),
                 VALUE(ACL_DDR_MEM_P2P_HUGE, 6), VALUE(ACL_DDR_MEM_P2P_NORMAL, 7),
                 VALUE(ACL_HBM_MEM_P2P_HUGE, 8), VALUE(ACL_HBM_MEM_P2P_NORMAL, 9),
                 VALUE(ACL_HBM_MEM_HUGE1G, 10), VALUE(ACL_HBM_MEM_P2P_HUGE1G, 11), VALUE(ACL_MEM_NORMAL, 12),
                 VALUE(ACL_MEM_HUGE, 13), VALUE(ACL_MEM_HUGE1G, 14), VALUE(ACL_MEM_P2P_NORMAL, 15),
                 VALUE(ACL_MEM_P2P_HUGE, 16), VALUE(ACL_MEM_P2P_HUGE1G, 17)});
  expect_values({VALUE(ACL_MEMTYPE_DEVICE, 0), VALUE(ACL_MEMTYPE_HOST, 1),
                 VALUE(ACL_MEMTYPE_HOST_COMPILE_INDEPENDENT, 2)});
}

TEST(Door, StatusEnums) {
  expect_values({VALUE(ACL_DEVICE, 0), VALUE(ACL_HOST, 1)});
  expect_values({VALUE(ACL_EVENT_STATUS_COMPLETE, 0), VALUE(ACL_EVENT_STATUS_NOT_READY, 1),
                 VALUE(ACL_EVENT_STATUS_RESERVED, 2)});
  expect_values(
      {VALUE(ACL_EVENT_RECORDED_STATUS_NOT_READY, 0), VALUE(ACL_EVENT_RECORDED_STATUS_COMPLETE, 1)});
  expect_values({VALUE(ACL_EVENT_WAIT_STATUS_COMPLETE, 0), VALUE(ACL_EVENT_WAIT_STATUS_NOT_READY, 1),
                 VALUE(ACL_EVENT_WAIT_STATUS_RESERVED, 0xFFFF)});
  expect_values({VALUE(ACL_STREAM_STATUS_COMPLETE, 0), VALUE(ACL_STREAM_STATUS_NOT_READY, 1),
                 VALUE(ACL_STREAM_STATUS_RESERVED, 0xFFFF)});
  expect_values({VALUE(ACL_CALLBACK_NO_BLOCK, 0), VALUE(ACL_CALLBACK_BLOCK, 1)});
}

TEST(Door, OptionsAndAttributes) {
  expect_values({VALUE(ACL_OPT_DETERMINISTIC, 0), VALUE(ACL_OPT_ENABLE_DEBUG_KERNEL, 1),
                 VALUE(ACL_OPT_STRONG_CONSISTENCY, 2), VALUE(ACL_OPT_ENABLE_KERNEL_EARLY_START, 3)});
  expect_values({VALUE(ACL_DEBUG, 0), VALUE(ACL_INFO, 1), VALUE(ACL_WARNING, 2), VALUE(ACL_ERROR, 3)});
  expect_values({VALUE(ACL_RT_THREAD_LEVEL, 0)});
  expect_values(
      {VALUE(ACL_CANN_ATTR_INF_NAN, 0), VALUE(ACL_CANN_ATTR_BF16, 1), VALUE(ACL_CANN_ATTR_JIT_COMPILE, 2)});
  expect_values({VALUE(ACL_DEVICE_INFO_AI_CORE_NUM, 0), VALUE(ACL_DEVICE_INFO_VECTOR_CORE_NUM, 1),
                 VALUE(ACL_DEVICE_INFO_L2_SIZE, 2)});
}

TEST(Door, FlagsAndVersion) {
  expect_values({VALUE(ACL_CONTINUE_ON_FAILURE, 0), VALUE(ACL_STOP_ON_FAILURE, 1)});
  expect_values({VALUE(ACL_EVENT_SYNC, 1), VALUE(ACL_EVENT_CAPTURE_STREAM_PROGRESS, 2),
                 VALUE(ACL_EVENT_TIME_LINE, 8), VALUE(ACL_EVENT_DEVICE_USE_ONLY, 0x10),
                 VALUE(ACL_EVENT_EXTERNAL, 0x20), VALUE(ACL_EVENT_IPC, 0x40)});
  expect_values({VALUE(ACL_STREAM_FAST_LAUNCH, 1), VALUE(ACL_STREAM_FAST_SYNC, 2),
                 VALUE(ACL_STREAM_PERSISTENT, 4), VALUE(ACL_STREAM_HUGE, 8),
                 VALUE(ACL_STREAM_CPU_SCHEDULE, 0x10), VALUE(ACL_STREAM_DEVICE_USE_ONLY, 0x20)});
  expect_values({VALUE(ACL_MAJOR_VERSION, 1), VALUE(ACL_MINOR_VERSION, 17), VALUE(ACL_PATCH_VERSION, 0)});
}

TEST(Door, AclnnCodes) {
  expect_values({VALUE(OK, 0), VALUE(ACLNN_SUCCESS, 0), VALUE(ACLNN_ERR_PARAM_NULLPTR, 161001),
                 VALUE(ACLNN_ERR_PARAM_INVALID, 161002), VALUE(ACLNN_ERR_RUNTIME_ERROR, 361001),
                 VALUE(ACLNN_ERR_INNER, 561000), VALUE(ACLNN_ERR_INNER_INFERSHAPE_ERROR, 561001),
                 VALUE(ACLNN_ERR_INNER_TILING_ERROR, 561002),
                 VALUE(ACLNN_ERR_INNER_FIND_KERNEL_ERROR, 561003),
                 VALUE(ACLNN_ERR_INNER_CREATE_EXECUTOR, 561101),
                 VALUE(ACLNN_ERR_INNER_NOT_TRANS_EXECUTOR, 561102), VALUE(ACLNN_ERR_INNER_NULLPTR, 561103)});
}

TEST(Door, GeneralCodes) {
  expect_values({VALUE(ACL_SUCCESS, 0),
                 VALUE(ACL_ERROR_NONE, 0),
                 VALUE(ACL_ERROR_INVALID_PARAM, 100000),
                 VALUE(ACL_ERROR_UNINITIALIZE, 100001),
                 VALUE(ACL_ERROR_REPEAT_INITIALIZE, 100002),
                 VALUE(ACL_ERROR_INVALID_FILE, 100003),
                 VALUE(ACL_ERROR_WRITE_FILE, 100004),
                 VALUE(ACL_ERROR_PARSE_FILE, 100006),
                 VALUE(ACL_ERROR_INVALID_DUMP_CONFIG, 100009),
                 VALUE(ACL_ERROR_UNSUPPORTED_DATA_TYPE, 100026),
                 VALUE(ACL_ERROR_REPEAT_FINALIZE, 100037),
                 VALUE(ACL_ERROR_BAD_ALLOC, 200000),
                 VALUE(ACL_ERROR_API_NOT_SUPPORT, 200001),
                 VALUE(ACL_ERROR_INVALID_DEVICE, 200002),
                 VALUE(ACL_ERROR_MEMORY_ADDRESS_UNALIGNED, 200003),
                 VALUE(ACL_ERROR_RESOURCE_NOT_MATCH, 200004),
                 VALUE(ACL_ERROR_INVALID_RESOURCE_HANDLE, 200005),
                 VALUE(ACL_ERROR_FEATURE_UNSUPPORTED, 200006),
                 VALUE(ACL_ERROR_STORAGE_OVER_LIMIT, 300000),
                 VALUE(ACL_ERROR_INTERNAL_ERROR, 500000),
                 VALUE(ACL_ERROR_FAILURE, 500001),
                 VALUE(ACL_ERROR_GE_FAILURE, 500002),
                 VALUE(ACL_ERROR_RT_FAILURE, 500003),
                 VALUE(ACL_ERROR_DRV_FAILURE, 500004),
                 VALUE(ACL_ERROR_PROFILING_FAILURE, 500005)});
}

TEST(Door, RuntimeCodes) {
  expect_values({VALUE(ACL_RT_SUCCESS, 0),
                 VALUE(ACL_ERROR_RT_PARAM_INVALID, 107000),
                 VALUE(ACL_ERROR_RT_INVALID_DEVICEID, 107001),
                 VALUE(ACL_ERROR_RT_CONTEXT_NULL, 107002),
                 VALUE(ACL_ERROR_RT_STREAM_CONTEXT, 107003),
                 VALUE(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, 107006),
                 VALUE(ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL, 107007),
                 VALUE(ACL_ERROR_RT_INVALID_HANDLE, 107017),
                 VALUE(ACL_ERROR_RT_WAIT_TIMEOUT, 107019),
                 VALUE(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, 107021),
                 VALUE(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, 207000),
                 VALUE(ACL_ERROR_RT_MEMORY_ALLOCATION, 207001),
                 VALUE(ACL_ERROR_RT_MEMORY_FREE, 207002),
                 VALUE(ACL_ERROR_RT_NO_DEVICE, 207004),
                 VALUE(ACL_ERROR_RT_NO_STREAM_RESOURCE, 207008),
                 VALUE(ACL_ERROR_RT_DEVICE_OOM, 207018),
                 VALUE(ACL_ERROR_RT_INTERNAL_ERROR, 507000),
                 VALUE(ACL_ERROR_RT_STREAM_NOT_COMPLETE, 507004),
                 VALUE(ACL_ERROR_RT_EVENT_NOT_COMPLETE, 507006),
                 VALUE(ACL_ERROR_RT_AICORE_EXCEPTION, 507015),
                 VALUE(ACL_ERROR_RT_VECTOR_CORE_EXCEPTION, 507035),
                 VALUE(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, 507046),
                 VALUE(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, 507047),
                 VALUE(ACL_ERROR_RT_DRV_INTERNAL_ERROR, 507899)});
}

// --- Prototypes: tensors, arrays, lists ---

static_assert(
    same<decltype(&aclCreateTensor), aclTensor* (*)(const int64_t*, uint64_t, aclDataType, const int64_t*,
                                                    int64_t, aclFormat, const int64_t*, uint64_t, void*)>);
static_assert(same<decltype(&aclCreateScalar), aclScalar* (*)(void*, aclDataType)>);
static_assert(same<decltype(&aclCreateIntArray), aclIntArray* (*)(const int64_t*, uint64_t)>);
static_assert(same<decltype(&aclCreateFloatArray), aclFloatArray* (*)(const float*, uint64_t)>);
static_assert(same<decltype(&aclCreateBoolArray), aclBoolArray* (*)(const bool*, uint64_t)>);
static_assert(same<decltype(&aclCreateTensorList), aclTensorList* (*)(const aclTensor* const*, uint64_t)>);
static_assert(same<decltype(&aclCreateScalarList), aclScalarList* (*)(const aclScalar* const*, uint64_t)>);
static_assert(same<decltype(&aclDestroyTensor), aclnnStatus (*)(const aclTensor*)>);
static_assert(same<decltype(&aclDestroyScalar), aclnnStatus (*)(const aclScalar*)>);
static_assert(same<decltype(&aclDestroyIntArray), aclnnStatus (*)(const aclIntArray*)>);
static_assert(same<decltype(&aclDestroyFloatArray), aclnnStatus (*)(const aclFloatArray*)>);
static_assert(same<decltype(&aclDestroyBoolArray), aclnnStatus (*)(const aclBoolArray*)>);
static_assert(same<decltype(&aclDestroyTensorList), aclnnStatus (*)(const aclTensorList*)>);
static_assert(same<decltype(&aclDestroyScalarList), aclnnStatus (*)(const aclScalarList*)>);
static_assert(same<decltype(&aclGetViewShape), aclnnStatus (*)(const aclTensor*, int64_t**, uint64_t*)>);
static_assert(same<decltype(&aclGetStorageShape), aclnnStatus (*)(const aclTensor*, int64_t**, uint64_t*)>);
static_assert(same<decltype(&aclGetViewStrides), aclnnStatus (*)(const aclTensor*, int64_t**, uint64_t*)>);
static_assert(same<decltype(&aclGetViewOffset), aclnnStatus (*)(const aclTensor*, int64_t*)>);
static_assert(same<decltype(&aclGetFormat), aclnnStatus (*)(const aclTensor*, aclFormat*)>);
static_assert(same<decltype(&aclGetDataType), aclnnStatus (*)(const aclTensor*, aclDataType*)>);
static_assert(same<decltype(&aclGetIntArraySize), aclnnStatus (*)(const aclIntArray*, uint64_t*)>);
static_assert(same<decltype(&aclGetFloatArraySize), aclnnStatus (*)(const aclFloatArray*, uint64_t*)>);
static_assert(same<decltype(&aclGetBoolArraySize), aclnnStatus (*)(const aclBoolArray*, uint64_t*)>);
static_assert(same<decltype(&aclGetTensorListSize), aclnnStatus (*)(const aclTensorList*, uint64_t*)>);
static_assert(same<decltype(&aclGetScalarListSize), aclnnStatus (*)(const aclScalarList*, uint64_t*)>);
static_assert(same<decltype(&aclInitTensor),
                   aclnnStatus (*)(aclTensor*, const int64_t*, uint64_t, aclDataType, const int64_t*, int64_t,
                                   aclFormat, const int64_t*, uint64_t, void*)>);
static_assert(same<decltype(&aclSetRawTensorAddr), aclnnStatus (*)(aclTensor*, void*)>);
static_assert(same<decltype(&aclGetRawTensorAddr), aclnnStatus (*)(const aclTensor*, void**)>);

// --- Prototypes: executors ---

using SetAddress = aclnnStatus (*)(aclOpExecutor*, size_t, aclTensor*, void*);
using SetDynamicAddress = aclnnStatus (*)(aclOpExecutor*, size_t, size_t, aclTensorList*, void*);
static_assert(same<decltype(&aclnnInit), aclnnStatus (*)(const char*)>);
static_assert(same<decltype(&aclnnFinalize), aclnnStatus (*)()>);
static_assert(same<decltype(&aclSetAclOpExecutorRepeatable), aclnnStatus (*)(aclOpExecutor*)>);
static_assert(same<decltype(&aclDestroyAclOpExecutor), aclnnStatus (*)(aclOpExecutor*)>);
static_assert(same<decltype(&aclSetTensorAddr), SetAddress> && same<decltype(&AclSetTensorAddr), SetAddress>);
static_assert(same<decltype(&aclSetInputTensorAddr), SetAddress> &&
              same<decltype(&AclSetInputTensorAddr), SetAddress>);
static_assert(same<decltype(&aclSetOutputTensorAddr), SetAddress> &&
              same<decltype(&AclSetOutputTensorAddr), SetAddress>);
static_assert(same<decltype(&aclSetDynamicTensorAddr), SetDynamicAddress>);
static_assert(same<decltype(&AclSetDynamicTensorAddr), SetDynamicAddress>);
static_assert(same<decltype(&aclSetDynamicInputTensorAddr), SetDynamicAddress>);
static_assert(same<decltype(&AclSetDynamicInputTensorAddr), SetDynamicAddress>);
static_assert(same<decltype(&aclSetDynamicOutputTensorAddr), SetDynamicAddress>);
static_assert(same<decltype(&AclSetDynamicOutputTensorAddr), SetDynamicAddress>);
static_assert(same<decltype(&aclDumpOpTensors),
                   aclnnStatus (*)(const char*, const char*, aclTensor**, size_t, size_t, aclrtStream)>);

// --- Prototypes: the runtime ---

static_assert(same<decltype(&aclInit), aclError (*)(const char*)>);
static_assert(same<decltype(&aclFinalize), aclError (*)()>);
static_assert(same<decltype(&aclFinalizeReference), aclError (*)(uint64_t*)>);
static_assert(same<decltype(&aclGetRecentErrMsg), const char* (*)()>);
static_assert(same<decltype(&aclrtSetDevice), aclError (*)(int32_t)>);
static_assert(same<decltype(&aclrtResetDevice), aclError (*)(int32_t)>);
static_assert(same<decltype(&aclrtResetDeviceForce), aclError (*)(int32_t)>);
static_assert(same<decltype(&aclrtGetDevice), aclError (*)(int32_t*)>);
static_assert(same<decltype(&aclrtGetDeviceCount), aclError (*)(uint32_t*)>);
static_assert(same<decltype(&aclrtGetRunMode), aclError (*)(aclrtRunMode*)>);
static_assert(same<decltype(&aclrtCreateContext), aclError (*)(aclrtContext*, int32_t)>);
static_assert(same<decltype(&aclrtDestroyContext), aclError (*)(aclrtContext)>);
static_assert(same<decltype(&aclrtSetCurrentContext), aclError (*)(aclrtContext)>);
static_assert(same<decltype(&aclrtGetCurrentContext), aclError (*)(aclrtContext*)>);
static_assert(same<decltype(&aclrtCtxGetCurrentDefaultStream), aclError (*)(aclrtStream*)>);
static_assert(same<decltype(&aclrtSynchronizeDevice), aclError (*)()>);
static_assert(same<decltype(&aclrtSynchronizeDeviceWithTimeout), aclError (*)(int32_t)>);
static_assert(same<decltype(&aclrtGetSocName), const char* (*)()>);
static_assert(same<decltype(&aclrtGetVersion), aclError (*)(int32_t*, int32_t*, int32_t*)>);
static_assert(same<decltype(&aclrtDeviceCanAccessPeer), aclError (*)(int32_t*, int32_t, int32_t)>);
static_assert(same<decltype(&aclrtDeviceEnablePeerAccess), aclError (*)(int32_t, uint32_t)>);
static_assert(same<decltype(&aclrtGetLastError), aclError (*)(aclrtLastErrLevel)>);
static_assert(same<decltype(&aclrtPeekAtLastError), aclError (*)(aclrtLastErrLevel)>);
static_assert(same<decltype(&aclrtCreateStream), aclError (*)(aclrtStream*)>);
static_assert(same<decltype(&aclrtCreateStreamWithConfig), aclError (*)(aclrtStream*, uint32_t, uint32_t)>);
static_assert(same<decltype(&aclrtDestroyStream), aclError (*)(aclrtStream)>);
static_assert(same<decltype(&aclrtDestroyStreamForce), aclError (*)(aclrtStream)>);
static_assert(same<decltype(&aclrtSynchronizeStream), aclError (*)(aclrtStream)>);
static_assert(same<decltype(&aclrtSynchronizeStreamWithTimeout), aclError (*)(aclrtStream, int32_t)>);
static_assert(same<decltype(&aclrtStreamQuery), aclError (*)(aclrtStream, aclrtStreamStatus*)>);
static_assert(same<decltype(&aclrtStreamWaitEvent), aclError (*)(aclrtStream, aclrtEvent)>);
static_assert(same<decltype(&aclrtRecordEvent), aclError (*)(aclrtEvent, aclrtStream)>);
static_assert(same<decltype(&aclrtResetEvent), aclError (*)(aclrtEvent, aclrtStream)>);
static_assert(same<decltype(&aclrtCreateEvent), aclError (*)(aclrtEvent*)>);
static_assert(same<decltype(&aclrtCreateEventWithFlag), aclError (*)(aclrtEvent*, uint32_t)>);
static_assert(same<decltype(&aclrtCreateEventExWithFlag), aclError (*)(aclrtEvent*, uint32_t)>);
static_assert(same<decltype(&aclrtDestroyEvent), aclError (*)(aclrtEvent)>);
static_assert(same<decltype(&aclrtQueryEvent), aclError (*)(aclrtEvent, aclrtEventStatus*)>);
static_assert(same<decltype(&aclrtQueryEventStatus), aclError (*)(aclrtEvent, aclrtEventRecordedStatus*)>);
static_assert(same<decltype(&aclrtQueryEventWaitStatus), aclError (*)(aclrtEvent, aclrtEventWaitStatus*)>);
static_assert(same<decltype(&aclrtSynchronizeEvent), aclError (*)(aclrtEvent)>);
static_assert(same<decltype(&aclrtSynchronizeEventWithTimeout), aclError (*)(aclrtEvent, int32_t)>);
static_assert(same<decltype(&aclrtEventElapsedTime), aclError (*)(float*, aclrtEvent, aclrtEvent)>);
static_assert(same<decltype(&aclrtMalloc), aclError (*)(void**, size_t, aclrtMemMallocPolicy)>);
static_assert(same<decltype(&aclrtMallocAlign32), aclError (*)(void**, size_t, aclrtMemMallocPolicy)>);
static_assert(same<decltype(&aclrtMallocCached), aclError (*)(void**, size_t, aclrtMemMallocPolicy)>);
static_assert(same<decltype(&aclrtFree), aclError (*)(void*)>);
static_assert(same<decltype(&aclrtMallocHost), aclError (*)(void**, size_t)>);
static_assert(same<decltype(&aclrtFreeHost), aclError (*)(void*)>);
static_assert(
    same<decltype(&aclrtMemcpy), aclError (*)(void*, size_t, const void*, size_t, aclrtMemcpyKind)>);
static_assert(same<decltype(&aclrtMemcpyAsync),
                   aclError (*)(void*, size_t, const void*, size_t, aclrtMemcpyKind, aclrtStream)>);
static_assert(same<decltype(&aclrtMemcpy2d),
                   aclError (*)(void*, size_t, const void*, size_t, size_t, size_t, aclrtMemcpyKind)>);
static_assert(same<decltype(&aclrtMemcpy2dAsync), aclError (*)(void*, size_t, const void*, size_t, size_t,
                                                               size_t, aclrtMemcpyKind, aclrtStream)>);
static_assert(same<decltype(&aclrtMemset), aclError (*)(void*, size_t, int32_t, size_t)>);
static_assert(same<decltype(&aclrtMemsetAsync), aclError (*)(void*, size_t, int32_t, size_t, aclrtStream)>);
static_assert(same<decltype(&aclrtGetMemInfo), aclError (*)(aclrtMemAttr, size_t*, size_t*)>);
static_assert(same<decltype(&aclrtSetSysParamOpt), aclError (*)(aclSysParamOpt, int64_t)>);
static_assert(same<decltype(&aclrtGetSysParamOpt), aclError (*)(aclSysParamOpt, int64_t*)>);
static_assert(same<decltype(&aclrtCtxSetSysParamOpt), aclError (*)(aclSysParamOpt, int64_t)>);
static_assert(same<decltype(&aclrtCtxGetSysParamOpt), aclError (*)(aclSysParamOpt, int64_t*)>);
// A template's argument would lose its attribute, with a warning.
[[maybe_unused]] constexpr void (*app_log)(aclLogLevel, const char*, const char*, uint32_t, const char*,
                                           ...) = aclAppLog;
static_assert(same<decltype(&aclDataTypeSize), size_t (*)(aclDataType)>);
static_assert(same<decltype(&aclFloatToFloat16), aclFloat16 (*)(float)>);
static_assert(same<decltype(&aclFloat16ToFloat), float (*)(aclFloat16)>);

}  // namespace
