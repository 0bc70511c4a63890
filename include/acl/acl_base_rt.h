/* Types and codes that every other public header needs: handles, dtypes, formats, aclError, aclnnStatus.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Enums are plain C enums: C and C++ callers can write ACL_FLOAT, and C++ callers also
 * aclDataType::ACL_FLOAT.
 */
#ifndef OPENACLNN_INCLUDE_ACL_ACL_BASE_RT_H_
#define OPENACLNN_INCLUDE_ACL_ACL_BASE_RT_H_

#include <stddef.h>
#include <stdint.h>

#include "acl/error_codes/ge_error_codes.h"
#include "acl/error_codes/rt_error_codes.h"

/* Marks exported functions, so that they stay visible under -fvisibility=hidden. */
#ifndef ACL_FUNC_VISIBILITY
#if defined(__GNUC__)
#define ACL_FUNC_VISIBILITY __attribute__((visibility("default")))
#else
#define ACL_FUNC_VISIBILITY
#endif
#endif

/* In C++ every enum has the underlying type int, so the library can inspect and reject any value. */
#ifdef __cplusplus
#define ACL_ENUM_INT : int
#else
#define ACL_ENUM_INT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Result of an acl* function: 0, or a code defined below or in acl/error_codes/rt_error_codes.h. */
typedef int aclError;

/** Result of an aclnn function: 0 or a code. openaclnn/status.h names the codes. */
typedef int32_t aclnnStatus;

/**
 * Handles of runtime objects. A handle is a number, not an address. It is never NULL, never dereferenced, and
 * never reused within a process, so functions detect a handle whose object was destroyed and return 107017.
 * Functions that accept NULL as a stream use the default stream of the current context.
 */
typedef void* aclrtStream;
typedef void* aclrtEvent;
typedef void* aclrtContext;

/** The bits of an IEEE binary16 number. */
typedef uint16_t aclFloat16;

/**
 * Type of the elements of a tensor. aclDataTypeSize returns the size of one element. Each operator's header
 * lists the types that it accepts.
 */
typedef enum aclDataType ACL_ENUM_INT {
  ACL_DT_UNDEFINED = -1,
  ACL_FLOAT = 0,   /**< IEEE binary32 */
  ACL_FLOAT16 = 1, /**< IEEE binary16 */
  ACL_INT8 = 2,
  ACL_INT32 = 3,
  ACL_UINT8 = 4,
  ACL_INT16 = 6,
  ACL_UINT16 = 7,
  ACL_UINT32 = 8,
  ACL_INT64 = 9,
  ACL_UINT64 = 10,
  ACL_DOUBLE = 11, /**< IEEE binary64 */
  ACL_BOOL = 12,   /**< one byte; every nonzero value is true */
  ACL_STRING = 13,
  ACL_COMPLEX64 = 16,  /**< two FLOAT: real, imaginary */
  ACL_COMPLEX128 = 17, /**< two DOUBLE: real, imaginary */
  ACL_BF16 = 27,       /**< bfloat16: the upper half of a FLOAT */
  ACL_INT4 = 29,
  ACL_UINT1 = 30,
  ACL_COMPLEX32 = 33, /**< two FLOAT16: real, imaginary */
  ACL_HIFLOAT8 = 34,
  ACL_FLOAT8_E5M2 = 35,
  ACL_FLOAT8_E4M3FN = 36,
  ACL_FLOAT8_E8M0 = 37,
  ACL_FLOAT6_E3M2 = 38,
  ACL_FLOAT6_E2M3 = 39,
  ACL_FLOAT4_E2M1 = 40,
  ACL_FLOAT4_E1M2 = 41
} aclDataType;

/**
 * Storage format of a tensor. UNDEFINED, NCHW, NHWC, ND, HWCN, NDHWC, NCDHW, NC and NCL all mean plain
 * strided memory of any rank here. The other formats are private to NPUs; phase 1 of every operator rejects
 * them with 161002.
 */
typedef enum aclFormat ACL_ENUM_INT {
  ACL_FORMAT_UNDEFINED = -1,
  ACL_FORMAT_NCHW = 0,
  ACL_FORMAT_NHWC = 1,
  ACL_FORMAT_ND = 2,
  ACL_FORMAT_NC1HWC0 = 3,
  ACL_FORMAT_FRACTAL_Z = 4,
  ACL_FORMAT_NC1HWC0_C04 = 12,
  ACL_FORMAT_HWCN = 16,
  ACL_FORMAT_NDHWC = 27,
  ACL_FORMAT_FRACTAL_NZ = 29,
  ACL_FORMAT_NCDHW = 30,
  ACL_FORMAT_NDC1HWC0 = 32,
  ACL_FRACTAL_Z_3D = 33, /**< CANN's spelling, without FORMAT in the name */
  ACL_FORMAT_NC = 35,
  ACL_FORMAT_NCL = 47,
  ACL_FORMAT_FRACTAL_NZ_C0_16 = 50,
  ACL_FORMAT_FRACTAL_NZ_C0_32 = 51,
  ACL_FORMAT_FRACTAL_NZ_C0_2 = 52,
  ACL_FORMAT_FRACTAL_NZ_C0_4 = 53,
  ACL_FORMAT_FRACTAL_NZ_C0_8 = 54
} aclFormat;

/** Location of memory. No function of this release uses it. */
typedef enum aclMemType ACL_ENUM_INT {
  ACL_MEMTYPE_DEVICE = 0,
  ACL_MEMTYPE_HOST = 1,
  ACL_MEMTYPE_HOST_COMPILE_INDEPENDENT = 2
} aclMemType;

/** Severity of a log line (aclAppLog). */
typedef enum aclLogLevel ACL_ENUM_INT {
  ACL_DEBUG = 0,
  ACL_INFO = 1,
  ACL_WARNING = 2,
  ACL_ERROR = 3
} aclLogLevel;

/** A capability of CANN to query. No function of this release uses it. */
typedef enum aclCannAttr ACL_ENUM_INT {
  ACL_CANN_ATTR_INF_NAN = 0,
  ACL_CANN_ATTR_BF16 = 1,
  ACL_CANN_ATTR_JIT_COMPILE = 2
} aclCannAttr;

/** A property of a device. No function of this release uses it. */
typedef enum aclDeviceInfo ACL_ENUM_INT {
  ACL_DEVICE_INFO_AI_CORE_NUM = 0,
  ACL_DEVICE_INFO_VECTOR_CORE_NUM = 1,
  ACL_DEVICE_INFO_L2_SIZE = 2
} aclDeviceInfo;

/* General codes; the 107xxx, 207xxx and 507xxx codes are macros in acl/error_codes/rt_error_codes.h. */
static const int ACL_SUCCESS = 0;
static const int ACL_ERROR_NONE = 0;
static const int ACL_ERROR_INVALID_PARAM = 100000; /* a NULL pointer or an unknown enum value */
static const int ACL_ERROR_UNINITIALIZE = 100001;
static const int ACL_ERROR_REPEAT_INITIALIZE = 100002;   /* aclInit was called before; treat as success */
static const int ACL_ERROR_INVALID_FILE = 100003;        /* aclInit: the file cannot be read */
static const int ACL_ERROR_WRITE_FILE = 100004;          /* a dump cannot be written */
static const int ACL_ERROR_PARSE_FILE = 100006;          /* aclInit: the file is not JSON */
static const int ACL_ERROR_INVALID_DUMP_CONFIG = 100009; /* aclInit: the section "dump" isn't accepted */
static const int ACL_ERROR_UNSUPPORTED_DATA_TYPE = 100026;
static const int ACL_ERROR_REPEAT_FINALIZE = 100037; /* aclFinalize without aclInit, or repeated */
static const int ACL_ERROR_BAD_ALLOC = 200000;
static const int ACL_ERROR_API_NOT_SUPPORT = 200001;
static const int ACL_ERROR_INVALID_DEVICE = 200002;
static const int ACL_ERROR_MEMORY_ADDRESS_UNALIGNED = 200003;
static const int ACL_ERROR_RESOURCE_NOT_MATCH = 200004;
static const int ACL_ERROR_INVALID_RESOURCE_HANDLE = 200005;
static const int ACL_ERROR_FEATURE_UNSUPPORTED = 200006;
static const int ACL_ERROR_STORAGE_OVER_LIMIT = 300000;
static const int ACL_ERROR_INTERNAL_ERROR = 500000;
static const int ACL_ERROR_FAILURE = 500001;
static const int ACL_ERROR_GE_FAILURE = 500002;
static const int ACL_ERROR_RT_FAILURE = 500003;
static const int ACL_ERROR_DRV_FAILURE = 500004;
static const int ACL_ERROR_PROFILING_FAILURE = 500005;

#ifdef __cplusplus
}
#endif

#endif /* OPENACLNN_INCLUDE_ACL_ACL_BASE_RT_H_ */
