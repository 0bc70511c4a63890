/* Arguments of operators: how tensors, scalars, arrays and lists are created, read, changed and destroyed.
 * SPDX-License-Identifier: Apache-2.0
 *
 * An object describes; it never owns tensor memory. Everything passed to a create is copied, except the
 * tensor memory itself. Objects are needed until phase 1 of an operator returned (see aclnn_base.h) and may
 * be destroyed then. They depend on no aclInit, device or context and outlive aclFinalize.
 *
 * Handles are numbers, never addresses and never used twice: any value may be passed anywhere, and one whose
 * object is destroyed, or of another kind, gives 161002. Threads: every function may be called from any
 * thread; calls on one object are serialised.
 *
 * Codes: 0; 161001 a needed pointer is NULL; 161002 a handle is stale or of another kind; 207001 no memory.
 * Names: openaclnn/status.h. A create that returns NULL, like every failure, leaves a sentence in
 * aclGetRecentErrMsg (acl/acl_rt.h).
 */
#ifndef OPENACLNN_INCLUDE_ACLNN_ACL_META_H_
#define OPENACLNN_INCLUDE_ACLNN_ACL_META_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The value of success of an aclnnStatus, by the short name that callers use. */
#ifdef __cplusplus
constexpr aclnnStatus OK = 0;
#else
enum { OK = 0 };
#endif

/* The types behind the handles are never defined: a handle is not an address. */
typedef struct aclTensor aclTensor;
typedef struct aclScalar aclScalar;
typedef struct aclIntArray aclIntArray;
typedef struct aclFloatArray aclFloatArray;
typedef struct aclBoolArray aclBoolArray;
typedef struct aclTensorList aclTensorList;
typedef struct aclScalarList aclScalarList;
typedef struct aclOpExecutor aclOpExecutor;

/* ---- Create ---- */

/**
 * Describes a tensor. Element (i, j, ...) lies (offset + i * stride[0] + j * stride[1] + ...) elements behind
 * tensorData.
 *
 * Almost nothing is checked here; phase 1 of the operator that gets the tensor does it. There the rank is at
 * most 8, inputs may have any strides (0 and negative too), outputs must not overlap themselves.
 *
 * @param viewDims extents, one per dimension; may be NULL when viewDimsNum is 0 (a scalar tensor with one
 *         element).
 * @param viewDimsNum rank.
 * @param dataType type of the elements.
 * @param stride distances in elements, one per dimension; NULL: contiguous, row-major.
 * @param offset elements from tensorData to the first element of the view.
 * @param format see aclFormat.
 * @param storageDims, storageDimsNum shape of the memory behind the view: kept for aclGetStorageShape and
 *         never used.
 * @param tensorData device address, aligned to one element; kept, not owned; it must live until the tasks
 *         ran. NULL is legal: an address may be set later, and a tensor that the task does not access needs
 *         none.
 * @return the tensor, released with aclDestroyTensor; NULL when a dims pointer is NULL with a count > 0, a
 *         count is above 64, or no memory is left.
 */
ACL_FUNC_VISIBILITY aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum,
                                               aclDataType dataType, const int64_t* stride, int64_t offset,
                                               aclFormat format, const int64_t* storageDims,
                                               uint64_t storageDimsNum, void* tensorData);

/**
 * Copies one host value.
 *
 * @param value address of the value.
 * @param dataType its type.
 * @return the scalar, released with aclDestroyScalar; NULL when value is NULL, the type has no fixed size
 *         (aclDataTypeSize gives 0) or no memory is left.
 */
ACL_FUNC_VISIBILITY aclScalar* aclCreateScalar(void* value, aclDataType dataType);

/**
 * Copies host numbers.
 *
 * @param value the numbers; may be NULL when size is 0.
 * @param size how many, 0 to 2147483647.
 * @return the array, released with aclDestroyIntArray; NULL when value is NULL and size > 0, size is larger, or no
 *         memory is left.
 */
ACL_FUNC_VISIBILITY aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size);

/**
 * As aclCreateIntArray, of floats.
 *
 * @param value, size as there.
 * @return as there, released with aclDestroyFloatArray.
 */
ACL_FUNC_VISIBILITY aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size);

/**
 * As aclCreateIntArray, of booleans.
 *
 * @param value, size as there.
 * @return as there, released with aclDestroyBoolArray.
 */
ACL_FUNC_VISIBILITY aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size);

/**
 * Makes a list that takes over its tensors: destroying the list destroys those that are still live.
 *
 * @param value the tensors; may be NULL when size is 0.
 * @param size how many, 0 to 2147483647.
 * @return the list, released with aclDestroyTensorList; NULL when value is NULL and size > 0, size is larger, an
 *         element is NULL or stale, or no memory is left: the tensors then stay the caller's.
 */
ACL_FUNC_VISIBILITY aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size);

/**
 * As aclCreateTensorList, of scalars.
 *
 * @param value, size as there.
 * @return as there, released with aclDestroyScalarList.
 */
ACL_FUNC_VISIBILITY aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size);

/* ---- Destroy: never touches tensor memory; work that uses the object already has its own copy ---- */

/** Destroys a tensor. @param tensor may be NULL. @return 0; 161002 it is stale or of another kind. */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyTensor(const aclTensor* tensor);

/** Destroys a scalar. @param scalar may be NULL. @return 0; 161002 it is stale or of another kind. */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyScalar(const aclScalar* scalar);

/** Destroys an array. @param array may be NULL. @return 0; 161002 it is stale or of another kind. */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyIntArray(const aclIntArray* array);

/** Destroys an array. @param array may be NULL. @return 0; 161002 it is stale or of another kind. */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyFloatArray(const aclFloatArray* array);

/** Destroys an array. @param array may be NULL. @return 0; 161002 it is stale or of another kind. */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyBoolArray(const aclBoolArray* array);

/**
 * Destroys a list and its tensors that are still live.
 *
 * @param array may be NULL.
 * @return 0; 161002 stale or of another kind.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyTensorList(const aclTensorList* array);

/**
 * Destroys a list and its scalars that are still live.
 *
 * @param array may be NULL.
 * @return 0; 161002 stale or of another kind.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyScalarList(const aclScalarList* array);

/* ---- Read. The arrays of the three shape getters come from new int64_t[n]: free them with delete[]. ---- */

/**
 * Gives the extents of a tensor.
 *
 * @param tensor a live tensor.
 * @param viewDims receives a new array, never NULL on success, also for rank 0; the caller owns it and frees
 *         it with delete[].
 * @param viewDimsNum receives the rank.
 * @return 0; 161001 a pointer is NULL; 161002 tensor is stale; 207001 no memory.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims,
                                                uint64_t* viewDimsNum);

/**
 * Gives the storage extents, as they were passed to the create.
 *
 * @param tensor, storageDims, storageDimsNum as in aclGetViewShape.
 * @return as there.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims,
                                                   uint64_t* storageDimsNum);

/**
 * Gives the strides in elements; for a tensor created without strides, the contiguous ones.
 *
 * @param tensor, stridesValue, stridesNum as in aclGetViewShape.
 * @return as there.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue,
                                                  uint64_t* stridesNum);

/**
 * Gives the offset in elements.
 *
 * @param tensor live.
 * @param offset receives it.
 * @return 0; 161001 NULL; 161002 stale.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset);

/**
 * Gives the format.
 *
 * @param tensor live.
 * @param format receives it.
 * @return 0; 161001 NULL; 161002 stale.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format);

/**
 * Gives the type of the elements.
 *
 * @param tensor live.
 * @param dataType receives it.
 * @return 0; 161001 NULL; 161002 stale.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType);

/**
 * Gives the number of elements.
 *
 * @param array live.
 * @param size receives it.
 * @return 0; 161001 NULL; 161002 stale.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size);

/**
 * Gives the number of elements.
 *
 * @param array live.
 * @param size receives it.
 * @return 0; 161001 NULL; 161002 stale.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size);

/**
 * Gives the number of elements.
 *
 * @param array live.
 * @param size receives it.
 * @return 0; 161001 NULL; 161002 stale.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size);

/**
 * Gives the number of tensors.
 *
 * @param tensorList live.
 * @param size receives it.
 * @return 0; 161001 NULL; 161002 stale.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclGetTensorListSize(const aclTensorList* tensorList, uint64_t* size);

/**
 * Gives the number of scalars.
 *
 * @param scalarList live.
 * @param size receives it.
 * @return 0; 161001 NULL; 161002 stale.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclGetScalarListSize(const aclScalarList* scalarList, uint64_t* size);

/* ---- Change ---- */

/**
 * Describes a live tensor anew, as aclCreateTensor would. Executors made with it before are not affected.
 *
 * @param tensor a live tensor.
 * @param viewDims, viewDimsNum, dataType, stride, offset, format, storageDims, storageDimsNum, tensorDataAddr
 *         as in aclCreateTensor.
 * @return 0; 161001 tensor is NULL, or a dims pointer is NULL with a count > 0; 161002 tensor is stale, or a
 *         count is above 64; 207001 no memory. The tensor stays as it was on failure.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclInitTensor(aclTensor* tensor, const int64_t* viewDims,
                                              uint64_t viewDimsNum, aclDataType dataType,
                                              const int64_t* stride, int64_t offset, aclFormat format,
                                              const int64_t* storageDims, uint64_t storageDimsNum,
                                              void* tensorDataAddr);

/**
 * Changes the address in a tensor object. Executors made with it keep theirs; see aclSetTensorAddr for those.
 *
 * @param tensor a live tensor.
 * @param addr the new tensorData of aclCreateTensor; NULL is stored.
 * @return 0; 161001 tensor is NULL; 161002 tensor is stale.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr);

/**
 * Gives the address in a tensor object.
 *
 * @param tensor a live tensor.
 * @param addr receives tensorData, without the offset; NULL when none was set.
 * @return 0; 161001 a pointer is NULL; 161002 tensor is stale.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr);

#ifdef __cplusplus
}
#endif

/* Callers include either header of this folder and expect both. */
#include "aclnn/aclnn_base.h"

#endif /* OPENACLNN_INCLUDE_ACLNN_ACL_META_H_ */
