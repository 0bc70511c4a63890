/* Arguments of operators: creates, reads, changes and destroys tensors, scalars, arrays and lists.
 * SPDX-License-Identifier: Apache-2.0
 *
 * An object is a description and never owns tensor memory. Create functions copy all their arguments, but not
 * the tensor memory itself. Objects must live until phase 1 of the operator has returned (see aclnn_base.h).
 * They do not depend on aclInit, a device or a context, and they outlive aclFinalize.
 *
 * Handles are numbers, not addresses, and are never reused. Every function accepts any value: a handle of a
 * destroyed object, or of another kind of object, gives 161002. Threads: every function may be called from
 * any thread. Concurrent calls on one object are serialised.
 *
 * Codes: 0; 161001 a required pointer is NULL; 161002 a handle is stale or of another kind; 561101 out of
 * memory. openaclnn/status.h names the codes. Every failure, including a create function that returns NULL,
 * adds an error message (aclGetRecentErrMsg in acl/acl_rt.h).
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

/** An aclnnStatus of success, under the short name that callers use. */
#ifdef __cplusplus
constexpr aclnnStatus OK = 0;
#else
enum { OK = 0 };
#endif

/* The handle types are never defined, because a handle is not an address. */
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
 * Describes a tensor. Element (i, j, ...) is at offset + i * stride[0] + j * stride[1] + ..., in elements
 * from tensorData.
 *
 * This function checks almost nothing. Phase 1 of the operator checks that the rank is at most 8 and that
 * outputs do not overlap themselves. Inputs may have any strides, including 0 and negative ones.
 *
 * @param viewDims sizes, one per dimension; may be NULL if viewDimsNum is 0 (a tensor of rank 0 with one
 *         element).
 * @param viewDimsNum the rank.
 * @param dataType the type of the elements.
 * @param stride strides in elements, one per dimension; NULL means contiguous, row-major.
 * @param offset elements from tensorData to the first element of the view.
 * @param format see aclFormat.
 * @param storageDims, storageDimsNum the shape of the memory behind the view. Only aclGetStorageShape uses
 *         it.
 * @param tensorData device address, aligned to the element size. The tensor does not own the memory, which
 *         must live until the tasks have run. NULL is allowed: you can set the address later, and tensors
 *         that the task does not access need none.
 * @return the tensor, to be released with aclDestroyTensor; NULL if a dims pointer is NULL with a count > 0,
 *         a count is above 64, or memory is exhausted.
 */
ACL_FUNC_VISIBILITY aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum,
                                               aclDataType dataType, const int64_t* stride, int64_t offset,
                                               aclFormat format, const int64_t* storageDims,
                                               uint64_t storageDimsNum, void* tensorData);

/**
 * Creates a scalar: a copy of one host value.
 *
 * @param value the address of the value.
 * @param dataType its type.
 * @return the scalar, to be released with aclDestroyScalar; NULL if value is NULL, the type has no fixed size
 *         (aclDataTypeSize returns 0), or memory is exhausted.
 */
ACL_FUNC_VISIBILITY aclScalar* aclCreateScalar(void* value, aclDataType dataType);

/**
 * Creates an array: a copy of host integers.
 *
 * @param value the elements; may be NULL if size is 0.
 * @param size the number of elements, 0 to 2,147,483,647.
 * @return the array, to be released with aclDestroyIntArray; NULL if value is NULL and size > 0, size is
 *         larger, or memory is exhausted.
 */
ACL_FUNC_VISIBILITY aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size);

/**
 * Like aclCreateIntArray, for floats.
 *
 * @param value, size as in aclCreateIntArray.
 * @return as in aclCreateIntArray; release the array with aclDestroyFloatArray.
 */
ACL_FUNC_VISIBILITY aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size);

/**
 * Like aclCreateIntArray, for booleans.
 *
 * @param value, size as in aclCreateIntArray.
 * @return as in aclCreateIntArray; release the array with aclDestroyBoolArray.
 */
ACL_FUNC_VISIBILITY aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size);

/**
 * Creates a list that owns its tensors: destroying the list destroys its tensors that are still live.
 *
 * @param value the tensors; may be NULL if size is 0.
 * @param size the number of tensors, 0 to 2,147,483,647.
 * @return the list, to be released with aclDestroyTensorList; NULL if value is NULL and size > 0, size is
 *         larger, an element is NULL or stale, or memory is exhausted. On failure the caller keeps the
 *         tensors.
 */
ACL_FUNC_VISIBILITY aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size);

/**
 * Like aclCreateTensorList, for scalars.
 *
 * @param value, size as in aclCreateTensorList.
 * @return as in aclCreateTensorList; release the list with aclDestroyScalarList.
 */
ACL_FUNC_VISIBILITY aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size);

/* ---- Destroy: never accesses tensor memory. Calls that use the object have their own copy. ---- */

/** Destroys a tensor. @param tensor may be NULL. @return 0; 161002 tensor is stale or of another kind. */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyTensor(const aclTensor* tensor);

/** Destroys a scalar. @param scalar may be NULL. @return 0; 161002 scalar is stale or of another kind. */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyScalar(const aclScalar* scalar);

/** Destroys an array. @param array may be NULL. @return 0; 161002 array is stale or of another kind. */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyIntArray(const aclIntArray* array);

/** Destroys an array. @param array may be NULL. @return 0; 161002 array is stale or of another kind. */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyFloatArray(const aclFloatArray* array);

/** Destroys an array. @param array may be NULL. @return 0; 161002 array is stale or of another kind. */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyBoolArray(const aclBoolArray* array);

/**
 * Destroys a list and its tensors that are still live.
 *
 * @param array may be NULL.
 * @return 0; 161002 array is stale or of another kind.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyTensorList(const aclTensorList* array);

/**
 * Destroys a list and its scalars that are still live.
 *
 * @param array may be NULL.
 * @return 0; 161002 array is stale or of another kind.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclDestroyScalarList(const aclScalarList* array);

/* ---- Read. The three shape getters return memory from new int64_t[n]: free it with delete[]. ---- */

/**
 * Returns the sizes of a tensor's dimensions.
 *
 * @param tensor a live tensor.
 * @param viewDims receives a new array, never NULL on success, even for rank 0. The caller owns it and frees
 *         it with delete[].
 * @param viewDimsNum receives the rank.
 * @return 0; 161001 a pointer is NULL; 161002 tensor is stale; 561101 out of memory.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims,
                                                uint64_t* viewDimsNum);

/**
 * Returns the storage sizes that were passed to the create function.
 *
 * @param tensor, storageDims, storageDimsNum as in aclGetViewShape.
 * @return as in aclGetViewShape.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims,
                                                   uint64_t* storageDimsNum);

/**
 * Returns the strides in elements. A tensor created without strides has contiguous ones.
 *
 * @param tensor, stridesValue, stridesNum as in aclGetViewShape.
 * @return as in aclGetViewShape.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue,
                                                  uint64_t* stridesNum);

/**
 * Returns the offset in elements.
 *
 * @param tensor a live tensor.
 * @param offset receives the offset.
 * @return 0; 161001 a pointer is NULL; 161002 tensor is stale.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset);

/**
 * Returns the format.
 *
 * @param tensor a live tensor.
 * @param format receives the format.
 * @return 0; 161001 a pointer is NULL; 161002 tensor is stale.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format);

/**
 * Returns the type of the elements.
 *
 * @param tensor a live tensor.
 * @param dataType receives the type.
 * @return 0; 161001 a pointer is NULL; 161002 tensor is stale.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType);

/**
 * Returns the number of elements.
 *
 * @param array a live array.
 * @param size receives the number.
 * @return 0; 161001 a pointer is NULL; 161002 array is stale.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size);

/**
 * Returns the number of elements.
 *
 * @param array a live array.
 * @param size receives the number.
 * @return 0; 161001 a pointer is NULL; 161002 array is stale.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size);

/**
 * Returns the number of elements.
 *
 * @param array a live array.
 * @param size receives the number.
 * @return 0; 161001 a pointer is NULL; 161002 array is stale.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size);

/**
 * Returns the number of tensors.
 *
 * @param tensorList a live list.
 * @param size receives the number.
 * @return 0; 161001 a pointer is NULL; 161002 tensorList is stale.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclGetTensorListSize(const aclTensorList* tensorList, uint64_t* size);

/**
 * Returns the number of scalars.
 *
 * @param scalarList a live list.
 * @param size receives the number.
 * @return 0; 161001 a pointer is NULL; 161002 scalarList is stale.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclGetScalarListSize(const aclScalarList* scalarList, uint64_t* size);

/* ---- Change ---- */

/**
 * Replaces the description of a live tensor, as aclCreateTensor would create it. Existing executors do not
 * change.
 *
 * @param tensor a live tensor.
 * @param viewDims, viewDimsNum, dataType, stride, offset, format, storageDims, storageDimsNum, tensorDataAddr
 *         as in aclCreateTensor.
 * @return 0; 161001 tensor is NULL, or a dims pointer is NULL with a count > 0; 161002 tensor is stale, or a
 *         count is above 64; 561101 out of memory. On failure the tensor does not change.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclInitTensor(aclTensor* tensor, const int64_t* viewDims,
                                              uint64_t viewDimsNum, aclDataType dataType,
                                              const int64_t* stride, int64_t offset, aclFormat format,
                                              const int64_t* storageDims, uint64_t storageDimsNum,
                                              void* tensorDataAddr);

/**
 * Changes the address in a tensor object. Existing executors keep their address; aclSetTensorAddr changes it.
 *
 * @param tensor a live tensor.
 * @param addr the new address, as tensorData of aclCreateTensor; may be NULL.
 * @return 0; 161001 tensor is NULL; 161002 tensor is stale.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr);

/**
 * Returns the address in a tensor object.
 *
 * @param tensor a live tensor.
 * @param addr receives the address without the offset, or NULL if none was set.
 * @return 0; 161001 a pointer is NULL; 161002 tensor is stale.
 */
ACL_FUNC_VISIBILITY aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr);

#ifdef __cplusplus
}
#endif

/* Callers include one header of this folder and expect both. */
#include "aclnn/aclnn_base.h"

#endif /* OPENACLNN_INCLUDE_ACLNN_ACL_META_H_ */
