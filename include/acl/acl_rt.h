/* The runtime: devices, contexts, streams, events, memory, options and the error text of a thread.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Order of a program: aclInit, aclrtSetDevice, aclrtCreateStream, aclrtMalloc, aclrtMemcpy, operators,
 * aclrtSynchronizeStream, aclrtMemcpy, frees, aclrtResetDevice, aclFinalize.
 *
 * Which device: OPENACLNN_DEVICE = auto (CUDA when its plugin loads and a GPU answers, else CPU), cpu or
 * cuda. Ids count from 0. On the CPU, device memory is host memory.
 *
 * Threads: every function may be called from any thread at any time. Current device and context, error text
 * and last error are per thread; a thread without a current context gets 107002 where a function lists it.
 * Calls on one object are serialised; one that loses against a destroy gets the code of a destroyed object.
 *
 * Codes: listed at each function, 0 is success. Names: acl_base_rt.h (100xxx) and
 * error_codes/rt_error_codes.h (the rest). Not repeated below: 207001 when the library cannot allocate its
 * own bookkeeping, and on CUDA 507899 in a child of fork() and the driver's failure once a device is lost.
 * Each failure adds one line to the thread's error text (aclGetRecentErrMsg).
 *
 * FAULT: bad tensor data that a kernel met, such as an index out of range. The stream and the process go on;
 * the next synchronise that covers the task returns 507035, once, with the position and the value in the
 * error text.
 */
#ifndef OPENACLNN_INCLUDE_ACL_ACL_RT_H_
#define OPENACLNN_INCLUDE_ACL_ACL_RT_H_

#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"

/* The version of the interface, as aclrtGetVersion reports it. */
#define ACL_MAJOR_VERSION 1
#define ACL_MINOR_VERSION 17
#define ACL_PATCH_VERSION 0

/* Flags of an event. Only ACL_EVENT_TIME_LINE has an effect: times are kept. Unknown flags are ignored. */
#define ACL_EVENT_SYNC 0x00000001U
#define ACL_EVENT_CAPTURE_STREAM_PROGRESS 0x00000002U
#define ACL_EVENT_TIME_LINE 0x00000008U
#define ACL_EVENT_DEVICE_USE_ONLY 0x00000010U
#define ACL_EVENT_EXTERNAL 0x00000020U
#define ACL_EVENT_IPC 0x00000040U

/* Flags of a stream: hints without effect on results. */
#define ACL_STREAM_FAST_LAUNCH 0x00000001U
#define ACL_STREAM_FAST_SYNC 0x00000002U
#define ACL_STREAM_PERSISTENT 0x00000004U
#define ACL_STREAM_HUGE 0x00000008U
#define ACL_STREAM_CPU_SCHEDULE 0x00000010U
#define ACL_STREAM_DEVICE_USE_ONLY 0x00000020U

/* Modes of a stream after a failure. No function of this release takes them. */
#define ACL_CONTINUE_ON_FAILURE 0x00000000U
#define ACL_STOP_ON_FAILURE 0x00000001U

#ifdef __cplusplus
extern "C" {
#endif

/** Where the calling program runs. */
typedef enum aclrtRunMode ACL_ENUM_INT { ACL_DEVICE = 0, ACL_HOST = 1 } aclrtRunMode;

/** Direction of a copy: a hint; the real placement of the memory decides. Copies accept 0 to 5. */
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

/** Kind of memory wanted: a hint; every value, and any combination, is accepted. */
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
 * State of an event, as aclrtQueryEventStatus reports it. The numbers are the other way round than in
 * aclrtEventStatus.
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

/** Whether a callback holds up its stream. No function of this release takes it. */
typedef enum aclrtCallbackBlockType ACL_ENUM_INT {
  ACL_CALLBACK_NO_BLOCK = 0,
  ACL_CALLBACK_BLOCK = 1
} aclrtCallbackBlockType;

/** Options one may set. They are stored and have no effect on results: openaclnn is deterministic always. */
typedef enum aclSysParamOpt ACL_ENUM_INT {
  ACL_OPT_DETERMINISTIC = 0,
  ACL_OPT_ENABLE_DEBUG_KERNEL = 1,
  ACL_OPT_STRONG_CONSISTENCY = 2,
  ACL_OPT_ENABLE_KERNEL_EARLY_START = 3 /**< per process only */
} aclSysParamOpt;

/** Whose last error is meant: there is only the calling thread's. */
typedef enum aclrtLastErrLevel ACL_ENUM_INT { ACL_RT_THREAD_LEVEL = 0 } aclrtLastErrLevel;

/* ---- Initialisation ---- */

/**
 * Counts one user of the library. Nothing depends on it except the release of what is left over: other
 * functions work without.
 *
 * @param configPath NULL or the path of a JSON file: a regular file of at most 1 MiB, nesting at most 10. It
 *         is read and checked; its contents have no effect.
 * @return 0 the first time; 100002 on later calls, which count up and are to be treated as success; 100000 a
 *         later call with another path than the first; 100003 the file cannot be read; 100006 it is not JSON.
 */
ACL_FUNC_VISIBILITY aclError aclInit(const char* configPath);

/**
 * Waits for all streams and drops every reference at once: contexts, streams, events and one-shot executors
 * that never ran are released; tensors, arrays and repeatable executors stay. Handles of what was released
 * give 107017 (executors 561000) later.
 *
 * @return 0, also with queued work or after a lost device; 100037 without aclInit, or when called again.
 */
ACL_FUNC_VISIBILITY aclError aclFinalize(void);

/**
 * Takes back one aclInit; the last one does what aclFinalize does.
 *
 * @param refCount receives how many remain.
 * @return 0; 100000 refCount is NULL; 100037 without aclInit.
 */
ACL_FUNC_VISIBILITY aclError aclFinalizeReference(uint64_t* refCount);

/* ---- Devices ---- */

/**
 * Makes a device current on this thread: binds the thread to the device's default context, which has a
 * default stream. The default context is shared by all threads and counted once per call.
 *
 * @param deviceId from 0 to the device count - 1.
 * @return 0; 107001 no such device; 207004 OPENACLNN_DEVICE=cuda and no GPU answers (the text says why).
 */
ACL_FUNC_VISIBILITY aclError aclrtSetDevice(int32_t deviceId);

/**
 * Takes back one aclrtSetDevice. When none is left, queued work is drained and the default context goes with
 * its streams: later use gives 107017. Memory blocks stay valid until aclrtFree. Without a matching
 * aclrtSetDevice it does nothing.
 *
 * @param deviceId as in aclrtSetDevice.
 * @return 0; 107001 no such device.
 */
ACL_FUNC_VISIBILITY aclError aclrtResetDevice(int32_t deviceId);

/**
 * As aclrtResetDevice, as if this were the last reference.
 *
 * @param deviceId as in aclrtSetDevice.
 * @return 0; 107001 no such device.
 */
ACL_FUNC_VISIBILITY aclError aclrtResetDeviceForce(int32_t deviceId);

/**
 * Gives the device of this thread's current context.
 *
 * @param deviceId receives the id.
 * @return 0; 100000 deviceId is NULL; 107002 no current context.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetDevice(int32_t* deviceId);

/**
 * Gives the number of devices of the platform in use.
 *
 * @param count receives it: on the CPU OPENACLNN_CPU_DEVICES (default 1); 0 when OPENACLNN_DEVICE=cuda and no
 *         GPU answers.
 * @return 0; 100000 count is NULL.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceCount(uint32_t* count);

/**
 * Tells whether the program runs on the host or on the device.
 *
 * @param runMode receives ACL_HOST, always.
 * @return 0; 100000 runMode is NULL.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetRunMode(aclrtRunMode* runMode);

/**
 * Waits until every stream of the current device is empty, in all its contexts.
 *
 * @return 0; 107002 no current context; 507035 tasks met FAULTs that were not reported yet: one line of text
 *         for each stream.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeDevice(void);

/**
 * As aclrtSynchronizeDevice, but gives up after a time.
 *
 * @param timeout milliseconds; -1 waits without limit.
 * @return 0; 107000 timeout < -1; 107002 no current context; 507035 as aclrtSynchronizeDevice; 507046 time is
 *         up: nothing is cancelled.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout);

/**
 * Gives the chip name that callers use to choose code paths.
 *
 * @return OPENACLNN_SOC_NAME, by default "Ascend910B1"; never NULL; owned by the library, valid as long as
 *         the process.
 */
ACL_FUNC_VISIBILITY const char* aclrtGetSocName(void);

/**
 * Gives the version of the interface that the loaded library implements.
 *
 * @param majorVersion receives 1.
 * @param minorVersion receives 17.
 * @param patchVersion receives 0.
 * @return 0; 100000 a pointer is NULL.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion,
                                             int32_t* patchVersion);

/**
 * Tells whether one device can read another's memory directly.
 *
 * @param canAccessPeer receives 1 or 0: on the CPU 1, on CUDA the driver's answer.
 * @param deviceId the device that reads.
 * @param peerDeviceId the device that holds the memory.
 * @return 0; 100000 canAccessPeer is NULL; 107001 no such device.
 */
ACL_FUNC_VISIBILITY aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId,
                                                      int32_t peerDeviceId);

/**
 * Lets the current device read another device's memory. On the CPU there is nothing to do.
 *
 * @param peerDeviceId the device that holds the memory.
 * @param flags 0; other values are ignored.
 * @return 0; 107001 no such device; 207000 the devices cannot do it.
 */
ACL_FUNC_VISIBILITY aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags);

/* ---- Contexts: a device with a default stream and streams of its own ---- */

/**
 * Creates a context with its own default stream and makes it current on this thread.
 *
 * @param context receives the handle; release it with aclrtDestroyContext.
 * @param deviceId as in aclrtSetDevice.
 * @return 0; 100000 context is NULL; 107001 no such device; 207004 as aclrtSetDevice.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId);

/**
 * Drains and destroys the streams of a context, then the context. Threads that had it current have none
 * afterwards.
 *
 * @param context a live context.
 * @return 0; 100000 context is NULL; 107017 it is not live.
 */
ACL_FUNC_VISIBILITY aclError aclrtDestroyContext(aclrtContext context);

/**
 * Makes a context, and its device, current on this thread.
 *
 * @param context any live context, whichever thread created it.
 * @return 0; 100000 context is NULL; 107017 it is not live.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetCurrentContext(aclrtContext context);

/**
 * Gives this thread's current context.
 *
 * @param context receives the handle.
 * @return 0; 100000 context is NULL; 107002 there is none.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetCurrentContext(aclrtContext* context);

/**
 * Gives the handle of the stream that NULL stands for on this thread.
 *
 * @param stream receives the default stream of the current context. It belongs to the context:
 *         aclrtDestroyStream refuses it.
 * @return 0; 100000 stream is NULL; 107002 no current context.
 */
ACL_FUNC_VISIBILITY aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* stream);

/* ---- Streams: queues of tasks. They are independent of each other, the default stream included. ---- */

/**
 * Creates a stream in the current context.
 *
 * @param stream receives the handle; release it with aclrtDestroyStream.
 * @return 0; 100000 stream is NULL; 107002 no current context; 207008 no further stream can be made.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateStream(aclrtStream* stream);

/**
 * As aclrtCreateStream, with hints.
 *
 * @param stream as in aclrtCreateStream.
 * @param priority, flag hints (ACL_STREAM_*); any value is accepted.
 * @return as aclrtCreateStream.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority,
                                                         uint32_t flag);

/**
 * Waits for all tasks of a stream, then destroys it. A FAULT nobody asked for yet is reported by the next
 * synchronise of the device.
 *
 * @param stream a live stream that was created, not a default stream.
 * @return 0; 100000 stream is NULL; 107017 it is not live, or a default stream.
 */
ACL_FUNC_VISIBILITY aclError aclrtDestroyStream(aclrtStream stream);

/**
 * Destroys a stream and drops its tasks that have not started.
 *
 * @param stream as in aclrtDestroyStream.
 * @return as aclrtDestroyStream.
 */
ACL_FUNC_VISIBILITY aclError aclrtDestroyStreamForce(aclrtStream stream);

/**
 * Waits until a stream is empty. Only then are the results of its tasks valid on the host.
 *
 * @param stream a live stream, or NULL for the default stream.
 * @return 0; 107002 no current context; 107017 stream is not live; 507035 a task met a FAULT: returned once,
 *         the sentence names operator, position and value; tasks after it ran.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStream(aclrtStream stream);

/**
 * As aclrtSynchronizeStream, but gives up after a time.
 *
 * @param stream as in aclrtSynchronizeStream.
 * @param timeout milliseconds; -1 waits without limit.
 * @return as aclrtSynchronizeStream; 107000 timeout < -1; 507046 time is up: nothing is cancelled.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);

/**
 * Tells, without waiting, whether a stream is empty. It never reports a FAULT.
 *
 * @param stream a live stream, or NULL for the default stream.
 * @param status receives COMPLETE or NOT_READY.
 * @return 0; 100000 status is NULL; 107002 no current context; 107017 stream is not live.
 */
ACL_FUNC_VISIBILITY aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status);

/**
 * Makes the later tasks of a stream wait for an event; the host does not wait. Meant is the latest record of
 * the event at the time of this call: a record that comes later changes nothing, so waits cannot form a
 * cycle.
 *
 * @param stream a live stream, or NULL for the default stream.
 * @param event a live event; one that was never recorded does not hold.
 * @return 0; 100000 event is NULL; 107002 no current context; 107017 a handle is not live.
 */
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);

/* ---- Events: marks in a stream ---- */

/**
 * Creates an event that keeps times.
 *
 * @param event receives the handle; release it with aclrtDestroyEvent.
 * @return 0; 100000 event is NULL; 107002 no current context.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateEvent(aclrtEvent* event);

/**
 * As aclrtCreateEvent, with flags.
 *
 * @param event as in aclrtCreateEvent.
 * @param flag ACL_EVENT_*: times are kept only with ACL_EVENT_TIME_LINE; others are ignored.
 * @return as aclrtCreateEvent.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag);

/**
 * The same as aclrtCreateEventWithFlag.
 *
 * @param event, flag as there.
 * @return as there.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag);

/**
 * Destroys an event, at any time: streams that already wait for it keep waiting for its record.
 *
 * @param event a live event.
 * @return 0; 100000 event is NULL; 107017 it is not live.
 */
ACL_FUNC_VISIBILITY aclError aclrtDestroyEvent(aclrtEvent event);

/**
 * Puts a mark into a stream, in stream order. It replaces the event's earlier record.
 *
 * @param event a live event.
 * @param stream a live stream, or NULL for the default stream.
 * @return 0; 100000 event is NULL; 107002 no current context; 107017 a handle is not live.
 */
ACL_FUNC_VISIBILITY aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);

/**
 * Takes an event back to "never recorded", in stream order.
 *
 * @param event, stream as in aclrtRecordEvent.
 * @return as aclrtRecordEvent.
 */
ACL_FUNC_VISIBILITY aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream);

/**
 * Tells, without waiting, whether the latest record of an event is reached.
 *
 * @param event a live event.
 * @param status receives COMPLETE (0), also when never recorded, or NOT_READY (1).
 * @return 0; 100000 a pointer is NULL; 107002 no current context; 107017 event is not live.
 */
ACL_FUNC_VISIBILITY aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* status);

/**
 * As aclrtQueryEvent, in other numbers.
 *
 * @param event as there.
 * @param status receives COMPLETE (1), also when never recorded, or NOT_READY (0).
 * @return as aclrtQueryEvent.
 */
ACL_FUNC_VISIBILITY aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status);

/**
 * As aclrtQueryEvent, in another type.
 *
 * @param event as there.
 * @param status receives COMPLETE (0), also when never recorded, or NOT_READY (1).
 * @return as aclrtQueryEvent.
 */
ACL_FUNC_VISIBILITY aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* status);

/**
 * Waits until the latest record of an event is reached; an event never recorded does not wait.
 *
 * @param event a live event.
 * @return 0; 100000 event is NULL; 107002 no current context; 107017 it is not live; 507035 a task before the
 *         mark met a FAULT, as in aclrtSynchronizeStream.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEvent(aclrtEvent event);

/**
 * As aclrtSynchronizeEvent, but gives up after a time.
 *
 * @param event as there.
 * @param timeout milliseconds; -1 waits without limit.
 * @return as aclrtSynchronizeEvent; 107000 timeout < -1; 507047 time is up: nothing is cancelled.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout);

/**
 * Gives the time between two marks.
 *
 * @param ms receives milliseconds.
 * @param startEvent, endEvent live events that keep times and whose latest records are reached.
 * @return 0; 100000 a pointer is NULL; 107002 no current context; 107006 an event is not recorded, keeps no
 *         times or is not reached; 107007 the end lies before the start; 107017 an event is not live.
 */
ACL_FUNC_VISIBILITY aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent);

/* ---- Memory ---- */

/**
 * Allocates device memory on the current device. Its contents are undefined.
 *
 * @param devPtr receives the address, a multiple of 64; NULL on 207001. Release it with aclrtFree.
 * @param size bytes wanted, > 0. Usable are size rounded up to a multiple of 32, plus 32.
 * @param policy a hint.
 * @return 0; 100000 devPtr is NULL or size is 0; 107002 no current context; 207001 no memory, or size >
 *         PTRDIFF_MAX (the text contains EL0004).
 */
ACL_FUNC_VISIBILITY aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy);

/**
 * As aclrtMalloc, without the extra 32 bytes.
 *
 * @param devPtr, size, policy as there.
 * @return as aclrtMalloc.
 */
ACL_FUNC_VISIBILITY aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy policy);

/**
 * As aclrtMalloc; memory is cached in any case.
 *
 * @param devPtr, size, policy as there.
 * @return as aclrtMalloc.
 */
ACL_FUNC_VISIBILITY aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy policy);

/**
 * Frees device memory without waiting: blocks that queued tasks use are released after them.
 *
 * @param devPtr the start of a live block of aclrtMalloc, aclrtMallocAlign32 or aclrtMallocCached.
 * @return 0; 100000 devPtr is NULL; 107000 it is not the start of such a block (freed before, inside one,
 *         foreign): nothing is freed.
 */
ACL_FUNC_VISIBILITY aclError aclrtFree(void* devPtr);

/**
 * Allocates host memory that copies to and from a device are fast with. Needs no context. Its contents are
 * undefined.
 *
 * @param hostPtr receives the address, a multiple of 64; NULL on 207001. Release it with aclrtFreeHost.
 * @param size bytes wanted, > 0. Usable are as many as from aclrtMalloc.
 * @return 0; 100000 hostPtr is NULL or size is 0; 207001 no memory, or size > PTRDIFF_MAX.
 */
ACL_FUNC_VISIBILITY aclError aclrtMallocHost(void** hostPtr, size_t size);

/**
 * Frees host memory, as aclrtFree does device memory.
 *
 * @param hostPtr the start of a live block of aclrtMallocHost.
 * @return 0; 100000 hostPtr is NULL; 107000 it is not the start of such a block: nothing is freed.
 */
ACL_FUNC_VISIBILITY aclError aclrtFreeHost(void* hostPtr);

/**
 * Copies bytes and waits until they are there. It is not ordered with streams: synchronise first when tasks
 * write src or use dst. Needs no context.
 *
 * @param dst destination.
 * @param destMax bytes of room at dst.
 * @param src source.
 * @param count bytes to copy, 0 allowed.
 * @param kind a hint, 0 to 5.
 * @return 0, also for count 0 or dst == src; 100000 dst or src is NULL, or kind is outside 0 to 5; 107000
 *         count > destMax or > PTRDIFF_MAX, the ranges overlap otherwise, or a range leaves its memory block.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count,
                                         aclrtMemcpyKind kind);

/**
 * Copies bytes in stream order; the host does not wait. src may be reused at once when it is ordinary host
 * memory; any other src, and dst, must live until the copy is done.
 *
 * @param dst, destMax, src, count, kind as in aclrtMemcpy.
 * @param stream a live stream, or NULL for the default stream.
 * @return as aclrtMemcpy; 107002 no current context; 107017 stream is not live; 207000 kind is
 *         ACL_MEMCPY_HOST_TO_HOST.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count,
                                              aclrtMemcpyKind kind, aclrtStream stream);

/**
 * Fills memory with one byte value and waits until it is done.
 *
 * @param devPtr destination.
 * @param maxCount bytes of room there.
 * @param value its low 8 bits are written.
 * @param count bytes to fill, 0 allowed.
 * @return 0; 100000 devPtr is NULL; 107000 count > maxCount or > PTRDIFF_MAX, or the range leaves its block; 107002 no
 *         current context.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count);

/**
 * As aclrtMemset, in stream order; the host does not wait.
 *
 * @param devPtr, maxCount, value, count as there.
 * @param stream a live stream, or NULL for the default stream.
 * @return as aclrtMemset; 107017 stream is not live.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count,
                                              aclrtStream stream);

/**
 * Gives the memory of the current device. On the CPU: of the machine, or of the smallest limit among the process's
 * control groups (cgroups) and all groups above them.
 *
 * @param attr which memory; all answer for the device as a whole.
 * @param free receives free bytes.
 * @param total receives all bytes.
 * @return 0; 100000 attr is outside 0 to 17, or a pointer is NULL; 107002 no current context; 207000 the system does
 *         not say (no /proc): then nothing is written.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total);

/* ---- Options: stored for programs that set them, without effect on results ---- */

/**
 * Stores an option of the process.
 *
 * @param opt any of aclSysParamOpt.
 * @param value any value.
 * @return 0; 100000 opt is unknown.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value);

/**
 * Gives an option of the process.
 *
 * @param opt any of aclSysParamOpt.
 * @param value receives what was stored last, 0 at first.
 * @return 0; 100000 opt is unknown or value is NULL.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value);

/**
 * Stores an option of the current context.
 *
 * @param opt any of aclSysParamOpt except ACL_OPT_ENABLE_KERNEL_EARLY_START.
 * @param value any value.
 * @return 0; 100000 opt is not accepted; 107002 no current context.
 */
ACL_FUNC_VISIBILITY aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value);

/**
 * Gives an option of the current context.
 *
 * @param opt as in aclrtCtxSetSysParamOpt.
 * @param value receives what was stored last.
 * @return 0; 100000 opt is not accepted or value is NULL; 107002 no current context; 107021 it was never set
 *         in this context.
 */
ACL_FUNC_VISIBILITY aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value);

/* ---- Errors ---- */

/**
 * Takes this thread's messages. Every failing call of the library, and every create that returns NULL, adds
 * one line: "function: sentence [code NAME]". At most 16 lines are kept. Works before aclInit.
 *
 * @return the messages, newest first, one per line, now cleared; NULL when there are none. The text belongs
 *         to the library and is valid until the next call of this function on this thread.
 */
ACL_FUNC_VISIBILITY const char* aclGetRecentErrMsg(void);

/**
 * Takes this thread's last error: gives and clears it.
 *
 * @param level ACL_RT_THREAD_LEVEL.
 * @return the last non-zero code a function returned on this thread, or 0; 100000 level is another value.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetLastError(aclrtLastErrLevel level);

/**
 * As aclrtGetLastError, but keeps the error.
 *
 * @param level ACL_RT_THREAD_LEVEL.
 * @return as aclrtGetLastError.
 */
ACL_FUNC_VISIBILITY aclError aclrtPeekAtLastError(aclrtLastErrLevel level);

#ifdef __cplusplus
}
#endif

#endif /* OPENACLNN_INCLUDE_ACL_ACL_RT_H_ */
