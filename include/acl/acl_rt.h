/* The runtime: devices, contexts, streams, events, memory, options and error messages.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Typical order of calls: aclInit, aclrtSetDevice, aclrtCreateStream, aclrtMalloc, aclrtMemcpy, operators,
 * aclrtSynchronizeStream, aclrtMemcpy, aclrtFree, aclrtResetDevice, aclFinalize.
 *
 * Devices: OPENACLNN_DEVICE selects the platform: auto, cpu or cuda. auto selects CUDA if its plugin loads
 * and a GPU is available, otherwise the CPU. Device ids start at 0. On the CPU, device memory is host memory.
 *
 * Threads: every function may be called from any thread at any time. The current device, the current context,
 * the error messages and the last error are per thread. A thread without a current context gets 107002 from
 * functions that list this code. Concurrent calls on one object are serialised. A call that runs after the
 * object was destroyed returns the code of a destroyed object.
 *
 * Codes: each function lists the codes that it returns; 0 is success. The names are in acl_base_rt.h (100xxx)
 * and error_codes/rt_error_codes.h (the others). Some codes are not repeated below. Every function returns
 * 207001 if the library cannot allocate its own data structures. On CUDA, functions return 507899 in a child
 * of fork(), and the driver's error code after a device is lost. Each failure adds one line to the thread's
 * error messages (aclGetRecentErrMsg).
 *
 * FAULT: invalid tensor data that a kernel found, such as an index out of range. The stream and the process
 * continue. The next synchronising call that covers the task returns 507035 once. Its error message contains
 * the position and the value.
 */
#ifndef OPENACLNN_INCLUDE_ACL_ACL_RT_H_
#define OPENACLNN_INCLUDE_ACL_ACL_RT_H_

#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"

/* Version of the interface, as aclrtGetVersion returns it. */
#define ACL_MAJOR_VERSION 1
#define ACL_MINOR_VERSION 17
#define ACL_PATCH_VERSION 0

/* Flags of an event. ACL_EVENT_TIME_LINE, or none of these, makes it record times. The others alone make it record
 * none, and have no further effect. */
#define ACL_EVENT_SYNC 0x00000001U
#define ACL_EVENT_CAPTURE_STREAM_PROGRESS 0x00000002U
#define ACL_EVENT_TIME_LINE 0x00000008U
#define ACL_EVENT_DEVICE_USE_ONLY 0x00000010U
#define ACL_EVENT_EXTERNAL 0x00000020U
#define ACL_EVENT_IPC 0x00000040U

/* Flags of a stream: hints that do not affect results. */
#define ACL_STREAM_FAST_LAUNCH 0x00000001U
#define ACL_STREAM_FAST_SYNC 0x00000002U
#define ACL_STREAM_PERSISTENT 0x00000004U
#define ACL_STREAM_HUGE 0x00000008U
#define ACL_STREAM_CPU_SCHEDULE 0x00000010U
#define ACL_STREAM_DEVICE_USE_ONLY 0x00000020U

/* Modes of a stream after a failure. No function of this release uses these values. */
#define ACL_CONTINUE_ON_FAILURE 0x00000000U
#define ACL_STOP_ON_FAILURE 0x00000001U

#ifdef __cplusplus
extern "C" {
#endif

/** Where the calling program runs. */
typedef enum aclrtRunMode ACL_ENUM_INT { ACL_DEVICE = 0, ACL_HOST = 1 } aclrtRunMode;

/** Direction of a copy, as a hint: the actual location of the memory decides. Copies accept 0 to 5. */
typedef enum aclrtMemcpyKind ACL_ENUM_INT {
  ACL_MEMCPY_HOST_TO_HOST = 0,
  ACL_MEMCPY_HOST_TO_DEVICE = 1,
  ACL_MEMCPY_DEVICE_TO_HOST = 2,
  ACL_MEMCPY_DEVICE_TO_DEVICE = 3,
  ACL_MEMCPY_DEFAULT = 4,
  ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE = 5,
  ACL_MEMCPY_INNER_DEVICE_TO_DEVICE = 6,
  ACL_MEMCPY_INTER_DEVICE_TO_DEVICE = 7
} aclrtMemcpyKind;

/** Kind of memory to allocate, as a hint. Every value and every combination is accepted. */
typedef enum aclrtMemMallocPolicy ACL_ENUM_INT {
  ACL_MEM_MALLOC_HUGE_FIRST = 0,
  ACL_MEM_MALLOC_HUGE_ONLY = 1,
  ACL_MEM_MALLOC_NORMAL_ONLY = 2,
  ACL_MEM_MALLOC_HUGE_FIRST_P2P = 3,
  ACL_MEM_MALLOC_HUGE_ONLY_P2P = 4,
  ACL_MEM_MALLOC_NORMAL_ONLY_P2P = 5,
  ACL_MEM_MALLOC_HUGE1G_ONLY = 6,
  ACL_MEM_MALLOC_HUGE1G_ONLY_P2P = 7,
  ACL_MEM_TYPE_LOW_BAND_WIDTH = 0x0100,
  ACL_MEM_TYPE_HIGH_BAND_WIDTH = 0x1000,
  ACL_MEM_ACCESS_USER_SPACE_READONLY = 0x100000
} aclrtMemMallocPolicy;

/** Which memory aclrtGetMemInfo reports on. */
typedef enum aclrtMemAttr ACL_ENUM_INT {
  ACL_DDR_MEM = 0,
  ACL_HBM_MEM = 1,
  ACL_DDR_MEM_HUGE = 2,
  ACL_DDR_MEM_NORMAL = 3,
  ACL_HBM_MEM_HUGE = 4,
  ACL_HBM_MEM_NORMAL = 5,
  ACL_DDR_MEM_P2P_HUGE = 6,
  ACL_DDR_MEM_P2P_NORMAL = 7,
  ACL_HBM_MEM_P2P_HUGE = 8,
  ACL_HBM_MEM_P2P_NORMAL = 9,
  ACL_HBM_MEM_HUGE1G = 10,
  ACL_HBM_MEM_P2P_HUGE1G = 11,
  ACL_MEM_NORMAL = 12,
  ACL_MEM_HUGE = 13,
  ACL_MEM_HUGE1G = 14,
  ACL_MEM_P2P_NORMAL = 15,
  ACL_MEM_P2P_HUGE = 16,
  ACL_MEM_P2P_HUGE1G = 17
} aclrtMemAttr;

/** State of a stream. */
typedef enum aclrtStreamStatus ACL_ENUM_INT {
  ACL_STREAM_STATUS_COMPLETE = 0,
  ACL_STREAM_STATUS_NOT_READY = 1,
  ACL_STREAM_STATUS_RESERVED = 0xFFFF
} aclrtStreamStatus;

/** State of an event, as aclrtQueryEvent reports it. */
typedef enum aclrtEventStatus ACL_ENUM_INT {
  ACL_EVENT_STATUS_COMPLETE = 0,
  ACL_EVENT_STATUS_NOT_READY = 1,
  ACL_EVENT_STATUS_RESERVED = 2
} aclrtEventStatus;

/**
 * State of an event, as aclrtQueryEventStatus reports it. The values are the reverse of aclrtEventStatus.
 */
typedef enum aclrtEventRecordedStatus ACL_ENUM_INT {
  ACL_EVENT_RECORDED_STATUS_NOT_READY = 0,
  ACL_EVENT_RECORDED_STATUS_COMPLETE = 1
} aclrtEventRecordedStatus;

/** State of an event, as aclrtQueryEventWaitStatus reports it. */
typedef enum aclrtEventWaitStatus ACL_ENUM_INT {
  ACL_EVENT_WAIT_STATUS_COMPLETE = 0,
  ACL_EVENT_WAIT_STATUS_NOT_READY = 1,
  ACL_EVENT_WAIT_STATUS_RESERVED = 0xFFFF
} aclrtEventWaitStatus;

/** Whether a callback blocks its stream. No function of this release uses it. */
typedef enum aclrtCallbackBlockType ACL_ENUM_INT {
  ACL_CALLBACK_NO_BLOCK = 0,
  ACL_CALLBACK_BLOCK = 1
} aclrtCallbackBlockType;

/** Options that programs can set. They are stored but do not affect results: openaclnn is always
 * deterministic. */
typedef enum aclSysParamOpt ACL_ENUM_INT {
  ACL_OPT_DETERMINISTIC = 0,
  ACL_OPT_ENABLE_DEBUG_KERNEL = 1,
  ACL_OPT_STRONG_CONSISTENCY = 2,
  ACL_OPT_ENABLE_KERNEL_EARLY_START = 3 /**< per process only */
} aclSysParamOpt;

/** Scope of the last error. Only the calling thread's last error exists. */
typedef enum aclrtLastErrLevel ACL_ENUM_INT { ACL_RT_THREAD_LEVEL = 0 } aclrtLastErrLevel;

/* ---- Initialisation ---- */

/**
 * Adds one reference to the library. The references only determine when the library releases leftover
 * objects. Other functions also work without aclInit.
 *
 * @param configPath NULL or "", or the path of a JSON file: a regular file of at most 1 MiB with at most 10
 *         nesting levels. Its section "dump" can ask for dumps of calls until aclFinalize (docs/porting.md). The rest
 *         is checked, but has no effect.
 * @return 0 on the first call; 100002 on later calls, which add a reference and should be treated as success;
 *         100000 a later call passes another path than the first; 100003 the file cannot be read; 100006 the
 *         file is not JSON; 100009 the section "dump" has a member that isn't accepted, or its dump_path cannot
 *         be written.
 */
ACL_FUNC_VISIBILITY aclError aclInit(const char* configPath);

/**
 * Waits for all streams and removes all references at once. It releases contexts, streams, events and
 * one-shot executors that never ran. Tensors, arrays and repeatable executors remain. Later calls with a
 * released handle return 107017 (561000 for executors).
 *
 * @return 0, also if tasks were queued or a device was lost; 100037 without aclInit, or if called again.
 */
ACL_FUNC_VISIBILITY aclError aclFinalize(void);

/**
 * Removes one reference that aclInit added. Removing the last one does what aclFinalize does.
 *
 * @param refCount receives the number of remaining references.
 * @return 0; 100000 refCount is NULL; 100037 without aclInit.
 */
ACL_FUNC_VISIBILITY aclError aclFinalizeReference(uint64_t* refCount);

/* ---- Devices ---- */

/**
 * Makes a device current on this thread: binds the thread to the device's default context, which has a
 * default stream. All threads share this context. Each call adds one reference to it.
 *
 * @param deviceId a number from 0 to the device count - 1.
 * @return 0; 107001 no such device; 207004 OPENACLNN_DEVICE=cuda, but no GPU is available (the error message
 *         says why).
 */
ACL_FUNC_VISIBILITY aclError aclrtSetDevice(int32_t deviceId);

/**
 * Removes one reference that aclrtSetDevice added. Removing the last one waits for queued tasks and destroys
 * the default context with its streams; using them later returns 107017. Memory blocks stay valid until
 * aclrtFree. Without a matching aclrtSetDevice the call does nothing.
 *
 * @param deviceId as in aclrtSetDevice.
 * @return 0; 107001 no such device.
 */
ACL_FUNC_VISIBILITY aclError aclrtResetDevice(int32_t deviceId);

/**
 * Like aclrtResetDevice, but removes all references.
 *
 * @param deviceId as in aclrtSetDevice.
 * @return 0; 107001 no such device.
 */
ACL_FUNC_VISIBILITY aclError aclrtResetDeviceForce(int32_t deviceId);

/**
 * Returns the device of this thread's current context.
 *
 * @param deviceId receives the id.
 * @return 0; 100000 deviceId is NULL; 107002 no current context.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetDevice(int32_t* deviceId);

/**
 * Returns the number of devices of the platform in use.
 *
 * @param count receives the number. On the CPU it is OPENACLNN_CPU_DEVICES (default 1). It is 0 if
 *         OPENACLNN_DEVICE=cuda and no GPU is available.
 * @return 0; 100000 count is NULL.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceCount(uint32_t* count);

/**
 * Reports whether the program runs on the host or on the device.
 *
 * @param runMode always receives ACL_HOST.
 * @return 0; 100000 runMode is NULL.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetRunMode(aclrtRunMode* runMode);

/**
 * Waits until all streams of the current device, in all its contexts, are empty.
 *
 * @return 0; 107002 no current context; 507035 tasks found FAULTs that have not been reported yet: one error
 *         message for each stream.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeDevice(void);

/**
 * Like aclrtSynchronizeDevice, with a time limit.
 *
 * @param timeout milliseconds; -1 waits without limit.
 * @return 0; 107000 timeout < -1; 107002 no current context; 507035 as in aclrtSynchronizeDevice; 507046 the
 *         wait timed out, nothing is cancelled.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout);

/**
 * Returns the chip name, which callers use to select code paths.
 *
 * @return OPENACLNN_SOC_NAME, by default "Ascend910B1"; never NULL. The library owns the string, which stays
 *         valid until the process ends.
 */
ACL_FUNC_VISIBILITY const char* aclrtGetSocName(void);

/**
 * Returns the version of the interface that the loaded library implements.
 *
 * @param majorVersion receives 1.
 * @param minorVersion receives 17.
 * @param patchVersion receives 0.
 * @return 0; 100000 a pointer is NULL.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion,
                                             int32_t* patchVersion);

/**
 * Reports whether one device can read another device's memory directly.
 *
 * @param canAccessPeer receives 1 or 0. On the CPU it is 1, on CUDA the driver's answer.
 * @param deviceId the device that reads.
 * @param peerDeviceId the device that holds the memory.
 * @return 0; 100000 canAccessPeer is NULL; 107001 no such device.
 */
ACL_FUNC_VISIBILITY aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId,
                                                      int32_t peerDeviceId);

/**
 * Allows the current device to read another device's memory. Does nothing on the CPU.
 *
 * @param peerDeviceId the device that holds the memory.
 * @param flags 0; other values are ignored.
 * @return 0; 107001 no such device; 207000 the devices do not support it.
 */
ACL_FUNC_VISIBILITY aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags);

/* ---- Contexts: a device with a default stream and streams of its own ---- */

/**
 * Creates a context with its own default stream and makes it current on this thread.
 *
 * @param context receives the handle; release it with aclrtDestroyContext.
 * @param deviceId as in aclrtSetDevice.
 * @return 0; 100000 context is NULL; 107001 no such device; 207004 as in aclrtSetDevice.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId);

/**
 * Waits for the streams of a context and destroys them, then destroys the context. Threads on which it was
 * current have no current context afterwards.
 *
 * @param context a live context.
 * @return 0; 100000 context is NULL; 107017 context is not live.
 */
ACL_FUNC_VISIBILITY aclError aclrtDestroyContext(aclrtContext context);

/**
 * Makes a context and its device current on this thread.
 *
 * @param context a live context, created on any thread.
 * @return 0; 100000 context is NULL; 107017 context is not live.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetCurrentContext(aclrtContext context);

/**
 * Returns this thread's current context.
 *
 * @param context receives the handle.
 * @return 0; 100000 context is NULL; 107002 no current context.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetCurrentContext(aclrtContext* context);

/**
 * Returns the handle of the stream that NULL means on this thread.
 *
 * @param stream receives the default stream of the current context, which owns it: aclrtDestroyStream rejects
 *         this handle.
 * @return 0; 100000 stream is NULL; 107002 no current context.
 */
ACL_FUNC_VISIBILITY aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* stream);

/* ---- Streams: queues of tasks. All streams, including default ones, are independent of each other. ---- */

/**
 * Creates a stream in the current context.
 *
 * @param stream receives the handle; release it with aclrtDestroyStream.
 * @return 0; 100000 stream is NULL; 107002 no current context; 207008 no more streams can be created.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateStream(aclrtStream* stream);

/**
 * Like aclrtCreateStream, with hints.
 *
 * @param stream as in aclrtCreateStream.
 * @param priority, flag hints (ACL_STREAM_*); any value is accepted.
 * @return as in aclrtCreateStream.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority,
                                                         uint32_t flag);

/**
 * Waits for all tasks of a stream, then destroys it. The next synchronising call on the device reports FAULTs
 * of the stream that have not been reported yet.
 *
 * @param stream a live stream other than a default stream.
 * @return 0; 100000 stream is NULL; 107017 stream is not live, or is a default stream.
 */
ACL_FUNC_VISIBILITY aclError aclrtDestroyStream(aclrtStream stream);

/**
 * Destroys a stream and discards its tasks that have not started. Waits for the task that runs, and so do events and
 * threads that wait for the stream. With OPENACLNN_BLOCKING=1, calls of discarded tasks return 507035.
 *
 * @param stream as in aclrtDestroyStream.
 * @return as in aclrtDestroyStream.
 */
ACL_FUNC_VISIBILITY aclError aclrtDestroyStreamForce(aclrtStream stream);

/**
 * Waits until a stream is empty. Results of its tasks are valid on the host only after this.
 *
 * When the process ends, tasks that have not started are dropped. Destructors of static objects and atexit
 * handlers that synchronise after that get 507035 once, with a message.
 *
 * @param stream a live stream, or NULL for the default stream.
 * @return 0; 107002 no current context; 107017 stream is not live; 507035 a task found a FAULT: returned
 *         once. The error message names the operator, the position and the value. Later tasks of the stream
 *         have run.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStream(aclrtStream stream);

/**
 * Like aclrtSynchronizeStream, with a time limit.
 *
 * @param stream as in aclrtSynchronizeStream.
 * @param timeout milliseconds; -1 waits without limit.
 * @return as in aclrtSynchronizeStream; 107000 timeout < -1; 507046 the wait timed out, nothing is cancelled.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);

/**
 * Reports whether a stream is empty, without waiting. It never reports a FAULT.
 *
 * @param stream a live stream, or NULL for the default stream.
 * @param status receives COMPLETE or NOT_READY.
 * @return 0; 100000 status is NULL; 107002 no current context; 107017 stream is not live.
 */
ACL_FUNC_VISIBILITY aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status);

/**
 * Makes the later tasks of a stream wait for an event. The host does not wait. The stream waits for the
 * latest record of the event at the time of this call. Later records have no effect, so waits cannot form a
 * cycle.
 *
 * @param stream a live stream, or NULL for the default stream.
 * @param event a live event. An event that was never recorded does not block the stream.
 * @return 0; 100000 event is NULL; 107002 no current context; 107017 a handle is not live.
 */
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);

/* ---- Events: markers in a stream ---- */

/**
 * Creates an event that records times.
 *
 * @param event receives the handle; release it with aclrtDestroyEvent.
 * @return 0; 100000 event is NULL; 107002 no current context.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateEvent(aclrtEvent* event);

/**
 * Like aclrtCreateEvent, with flags.
 *
 * @param event as in aclrtCreateEvent.
 * @param flag ACL_EVENT_*. Times are recorded with ACL_EVENT_TIME_LINE, and without any of these flags. Unknown bits
 *         are ignored.
 * @return as in aclrtCreateEvent.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag);

/**
 * The same as aclrtCreateEventWithFlag.
 *
 * @param event, flag as in aclrtCreateEventWithFlag.
 * @return as in aclrtCreateEventWithFlag.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag);

/**
 * Destroys an event at any time. Streams that already wait for it continue to wait for its record.
 *
 * @param event a live event.
 * @return 0; 100000 event is NULL; 107017 event is not live.
 */
ACL_FUNC_VISIBILITY aclError aclrtDestroyEvent(aclrtEvent event);

/**
 * Places a marker in a stream, in stream order. It replaces the event's previous record.
 *
 * @param event a live event.
 * @param stream a live stream, or NULL for the default stream.
 * @return 0; 100000 event is NULL; 107002 no current context; 107017 a handle is not live.
 */
ACL_FUNC_VISIBILITY aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);

/**
 * Resets an event to "never recorded", in stream order.
 *
 * @param event, stream as in aclrtRecordEvent.
 * @return as in aclrtRecordEvent.
 */
ACL_FUNC_VISIBILITY aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream);

/**
 * Reports whether the latest record of an event has been reached, without waiting.
 *
 * @param event a live event.
 * @param status receives COMPLETE (0), also for an event that was never recorded, or NOT_READY (1).
 * @return 0; 100000 a pointer is NULL; 107002 no current context; 107017 event is not live.
 */
ACL_FUNC_VISIBILITY aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status);

/**
 * Like aclrtQueryEvent, with different values.
 *
 * @param event as in aclrtQueryEvent.
 * @param status receives COMPLETE (1), also for an event that was never recorded, or NOT_READY (0).
 * @return as in aclrtQueryEvent.
 */
ACL_FUNC_VISIBILITY aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status);

/**
 * Like aclrtQueryEvent, with another type.
 *
 * @param event as in aclrtQueryEvent.
 * @param status receives COMPLETE (0), also for an event that was never recorded, or NOT_READY (1).
 * @return as in aclrtQueryEvent.
 */
ACL_FUNC_VISIBILITY aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status);

/**
 * Waits until the latest record of an event has been reached. Returns at once if it was never recorded.
 *
 * @param event a live event.
 * @return 0; 100000 event is NULL; 107002 no current context; 107017 event is not live; 507035 a task before
 *         the marker found a FAULT, as in aclrtSynchronizeStream.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEvent(aclrtEvent event);

/**
 * Like aclrtSynchronizeEvent, with a time limit.
 *
 * @param event as in aclrtSynchronizeEvent.
 * @param timeout milliseconds; -1 waits without limit.
 * @return as in aclrtSynchronizeEvent; 107000 timeout < -1; 507047 the wait timed out, nothing is cancelled.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout);

/**
 * Returns the time between two events.
 *
 * @param ms receives the time in milliseconds.
 * @param startEvent, endEvent live events that record times and whose latest records have been reached.
 * @return 0; 100000 a pointer is NULL; 107002 no current context; 107006 an event is not recorded, does not
 *         record times, or has not been reached; 107007 the end precedes the start; 107017 an event is not
 *         live.
 */
ACL_FUNC_VISIBILITY aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent);

/* ---- Memory ---- */

/**
 * Allocates device memory on the current device. Its contents are undefined. If memory is lacking, waits for blocks
 * that were freed while tasks ran.
 *
 * @param devPtr receives the address, a multiple of 64, or NULL on 107002 and 207001. Release it with aclrtFree.
 * @param size bytes to allocate, > 0. The usable size is size rounded up to a multiple of 32, plus 32.
 * @param policy a hint.
 * @return 0; 100000 devPtr is NULL or size is 0; 107002 no current context; 207001 out of memory, or size >
 *         PTRDIFF_MAX (the error message contains EL0004).
 */
ACL_FUNC_VISIBILITY aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy);

/**
 * Like aclrtMalloc, without the extra 32 bytes.
 *
 * @param devPtr, size, policy as in aclrtMalloc.
 * @return as in aclrtMalloc.
 */
ACL_FUNC_VISIBILITY aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy policy);

/**
 * Like aclrtMalloc. All device memory is cached.
 *
 * @param devPtr, size, policy as in aclrtMalloc.
 * @return as in aclrtMalloc.
 */
ACL_FUNC_VISIBILITY aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy policy);

/**
 * Frees device memory without waiting. Blocks that queued tasks use are released after these tasks.
 *
 * @param devPtr the start of a live block from aclrtMalloc, aclrtMallocAlign32 or aclrtMallocCached.
 * @return 0; 100000 devPtr is NULL; 107000 devPtr is not the start of such a block (already freed, inside a
 *         block, or foreign): nothing is freed.
 */
ACL_FUNC_VISIBILITY aclError aclrtFree(void* devPtr);

/**
 * Allocates host memory that transfers to and from a device are fast with. Needs no context. Its contents are
 * undefined. If memory is lacking, waits as aclrtMalloc does.
 *
 * @param hostPtr receives the address, a multiple of 64, or NULL on 207001. Release it with aclrtFreeHost.
 * @param size bytes to allocate, > 0. The usable size is that of aclrtMalloc.
 * @return 0; 100000 hostPtr is NULL or size is 0; 207001 out of memory, or size > PTRDIFF_MAX.
 */
ACL_FUNC_VISIBILITY aclError aclrtMallocHost(void** hostPtr, size_t size);

/**
 * Frees host memory without waiting, like aclrtFree.
 *
 * @param hostPtr the start of a live block from aclrtMallocHost.
 * @return 0; 100000 hostPtr is NULL; 107000 hostPtr is not the start of such a block: nothing is freed.
 */
ACL_FUNC_VISIBILITY aclError aclrtFreeHost(void* hostPtr);

/**
 * Copies bytes and waits until the copy is complete. The copy is not ordered with streams: synchronise first
 * if tasks write src or use dst. Needs no context.
 *
 * @param dst destination.
 * @param destMax bytes available at dst.
 * @param src source.
 * @param count bytes to copy; may be 0.
 * @param kind a hint, 0 to 5.
 * @return 0, also if count is 0 or dst == src; 100000 dst or src is NULL, or kind is outside 0 to 5; 107000
 *         count > destMax or > PTRDIFF_MAX, the ranges overlap otherwise, or a range exceeds its memory
 *         block.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count,
                                         aclrtMemcpyKind kind);

/**
 * Copies bytes in stream order. The host does not wait. You may reuse src at once if it is ordinary host
 * memory. Any other src, and dst, must stay valid until the copy is complete.
 *
 * @param dst, destMax, src, count, kind as in aclrtMemcpy.
 * @param stream a live stream, or NULL for the default stream.
 * @return as in aclrtMemcpy; 107002 no current context; 107017 stream is not live; 207000 kind is
 *         ACL_MEMCPY_HOST_TO_HOST.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count,
                                              aclrtMemcpyKind kind, aclrtStream stream);

/**
 * Copies the rows of a matrix and waits until the copy is complete, as aclrtMemcpy does. Row k starts
 * k * dpitch bytes after dst and k * spitch bytes after src. The bytes between two rows are not copied.
 *
 * @param dst the first row of the destination.
 * @param dpitch bytes from the start of a row to the next in the destination; at least width.
 * @param src the first row of the source.
 * @param spitch bytes from the start of a row to the next in the source; at least width.
 * @param width bytes of each row; may be 0.
 * @param height number of rows; may be 0.
 * @param kind ACL_MEMCPY_HOST_TO_DEVICE or ACL_MEMCPY_DEVICE_TO_HOST, as on NPUs.
 * @return 0; 100000 dst or src is NULL, or kind is outside 0 to 5; 207000 kind is another of these; 107000
 *         width > dpitch or > spitch, height * dpitch or height * spitch > PTRDIFF_MAX, the ranges from the
 *         first byte to the last overlap, or one of them exceeds its memory block.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch,
                                           size_t width, size_t height, aclrtMemcpyKind kind);

/**
 * Like aclrtMemcpy2d, in stream order. The host does not wait. You may reuse src at once if it is ordinary
 * host memory. Any other src, and dst, must stay valid until the copy is complete.
 *
 * @param dst, dpitch, src, spitch, width, height, kind as in aclrtMemcpy2d, but height is at most 5,242,880.
 * @param stream a live stream, or NULL for the default stream.
 * @return as in aclrtMemcpy2d; 107000 also if height is larger; 107002 no current context; 107017 stream is
 *         not live.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch,
                                                size_t width, size_t height, aclrtMemcpyKind kind,
                                                aclrtStream stream);

/**
 * Fills memory with one byte value and waits until the fill is complete.
 *
 * @param devPtr destination.
 * @param maxCount bytes available at devPtr.
 * @param value the value, of which the low 8 bits are written.
 * @param count bytes to fill; may be 0.
 * @return 0; 100000 devPtr is NULL; 107000 count > maxCount or > PTRDIFF_MAX, or the range exceeds its memory
 *         block; 107002 no current context.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count);

/**
 * Like aclrtMemset, in stream order. The host does not wait.
 *
 * @param devPtr, maxCount, value, count as in aclrtMemset.
 * @param stream a live stream, or NULL for the default stream.
 * @return as in aclrtMemset; 107017 stream is not live.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count,
                                              aclrtStream stream);

/**
 * Returns the memory sizes of the current device. On the CPU these are the sizes of the machine, or of the
 * smallest limit among the process's control groups (cgroups) and all their ancestors.
 *
 * @param attr the kind of memory. Every value returns the sizes of the whole device.
 * @param free receives the free memory in bytes.
 * @param total receives the total memory in bytes.
 * @return 0; 100000 attr is outside 0 to 17, or a pointer is NULL; 107002 no current context; 207000 the
 *         system does not provide the sizes (no /proc): nothing is written.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total);

/* ---- Options: stored for programs that set them, with no effect on results ---- */

/**
 * Sets an option of the process.
 *
 * @param opt any of aclSysParamOpt.
 * @param value any value.
 * @return 0; 100000 opt is unknown.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value);

/**
 * Returns an option of the process.
 *
 * @param opt any of aclSysParamOpt.
 * @param value receives the value that was last set, initially 0.
 * @return 0; 100000 opt is unknown or value is NULL.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value);

/**
 * Sets an option of the current context.
 *
 * @param opt any of aclSysParamOpt except ACL_OPT_ENABLE_KERNEL_EARLY_START.
 * @param value any value.
 * @return 0; 100000 opt is not accepted; 107002 no current context.
 */
ACL_FUNC_VISIBILITY aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value);

/**
 * Returns an option of the current context.
 *
 * @param opt as in aclrtCtxSetSysParamOpt.
 * @param value receives the value that was last set.
 * @return 0; 100000 opt is not accepted or value is NULL; 107002 no current context; 107021 the option was
 *         never set in this context.
 */
ACL_FUNC_VISIBILITY aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value);

/* ---- Errors ---- */

/**
 * Returns and clears this thread's error messages. Every failing function, and every create function that
 * returns NULL, adds one line: "function: message [code NAME]". At most 16 lines are kept. Works before
 * aclInit.
 *
 * @return the error messages, newest first, one per line; NULL if there are none. The library owns the text,
 *         which stays valid until the next call of this function on this thread.
 */
ACL_FUNC_VISIBILITY const char* aclGetRecentErrMsg(void);

/* Checks the arguments of a format when the caller is compiled. */
#if defined(__GNUC__)
#define ACL_PRINTF_LIKE(text, first) __attribute__((__format__(__printf__, text, first)))
#else
#define ACL_PRINTF_LIKE(text, first)
#endif

/**
 * Writes one line of the program's own log to stderr, if OPENACLNN_LOG permits the level: "[ERROR] file:line
 * function: text". By default it permits ACL_ERROR and ACL_WARNING. CANN writes the line to its log files. The
 * macro ACL_APP_LOG passes the place of the call.
 *
 * @param logLevel severity of the line. An unknown value counts as ACL_ERROR.
 * @param func name of the calling function; may be NULL.
 * @param file name of its source file; may be NULL.
 * @param line line number in this file.
 * @param fmt format of printf for the remaining arguments; may be NULL. The text is cut to 1,023 bytes, and
 *        control characters in it become '?'.
 */
ACL_FUNC_VISIBILITY void aclAppLog(aclLogLevel logLevel, const char* func, const char* file, uint32_t line,
                                   const char* fmt, ...) ACL_PRINTF_LIKE(5, 6);

/** ACL_APP_LOG(ACL_INFO, "step %d", step) logs a line of the program. */
#define ACL_APP_LOG(level, ...) aclAppLog(level, __func__, __FILE__, __LINE__, __VA_ARGS__)

/**
 * Returns and clears this thread's last error.
 *
 * @param level ACL_RT_THREAD_LEVEL.
 * @return the last nonzero code that a function of this header returned on this thread, or 0; 100000 level
 *         has another value. Codes of aclnn functions don't count.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetLastError(aclrtLastErrLevel level);

/**
 * Like aclrtGetLastError, but does not clear the error.
 *
 * @param level ACL_RT_THREAD_LEVEL.
 * @return as in aclrtGetLastError.
 */
ACL_FUNC_VISIBILITY aclError aclrtPeekAtLastError(aclrtLastErrLevel level);

#ifdef __cplusplus
}
#endif

#endif /* OPENACLNN_INCLUDE_ACL_ACL_RT_H_ */
