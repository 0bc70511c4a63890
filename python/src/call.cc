// Runs an operator in a stream that belongs to the calling thread, and waits for it.
#include "call.h"

#include <memory>
#include <vector>

namespace openaclnn::python {

namespace {

// Every thread has its own stream in the default context: threads neither wait for each other's tasks nor
// get each other's faults. It is created at a thread's first call, and again after the program finalised
// the library.
class ThreadStream {
 public:
  ~ThreadStream() {
    if (stream_ != nullptr) (void)aclrtDestroyStream(stream_);
  }

  // Returns 0, or a code with an error message.
  int get(aclrtStream* stream) {
    if (stream_ == nullptr) {
      if (const int code = bind_context(); code != 0) return code;
      if (const int code = aclrtCreateStream(&stream_); code != 0) return code;
    }
    *stream = stream_;
    return 0;
  }

  // Gives up a stream that the runtime no longer knows, or whose context is no longer current. Returns whether
  // there was one.
  bool forget() {
    aclrtStream const stream = std::exchange(stream_, nullptr);
    if (stream != nullptr) (void)aclrtDestroyStream(stream);
    return stream != nullptr;
  }

 private:
  // Keeps a context that the program chose itself.
  static int bind_context() {
    aclrtContext context = nullptr;
    if (aclrtGetCurrentContext(&context) == 0) return 0;
    (void)aclGetRecentErrMsg();
    return aclrtSetDevice(0);
  }

  aclrtStream stream_ = nullptr;
};

thread_local ThreadStream thread_stream;

class Workspace {
 public:
  int allocate(uint64_t bytes) {
    void* memory = nullptr;
    const int code = bytes == 0 ? 0 : aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    memory_.reset(memory);
    return code;
  }
  void* get() const { return memory_.get(); }
  std::shared_ptr<const void> release() { return std::shared_ptr<const void>(std::move(memory_)); }

 private:
  struct Free {
    void operator()(void* memory) const { (void)aclrtFree(memory); }
  };
  std::unique_ptr<void, Free> memory_;
};

// What the interrupted work of this thread uses; nullptr: there is none. A thread that ends does not destroy
// it, because the work may still run and Python may have ended.
thread_local std::vector<Used>* interrupted_work = nullptr;

// Waits for a stream. Between waits, which are a tenth of a second long, Python's signal handlers run.
// Returns a code, or kInterrupted with Python's exception.
int wait_for_signals_too(aclrtStream stream) {
  constexpr int32_t kMilliseconds = 100;
  for (;;) {
    const int code = aclrtSynchronizeStreamWithTimeout(stream, kMilliseconds);
    if (code != ACL_ERROR_RT_STREAM_SYNC_TIMEOUT) return code;
    (void)aclGetRecentErrMsg();
    const nb::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) return kInterrupted;
  }
}

int wait(aclrtStream stream, const Place* place, Workspace& workspace) {
  if (place == nullptr) return aclrtSynchronizeStream(stream);
  const int code = wait_for_signals_too(stream);
  if (code == kInterrupted) {
    const nb::gil_scoped_acquire locked;
    if (interrupted_work == nullptr) interrupted_work = new std::vector<Used>;
    interrupted_work->push_back(place->used());
    interrupted_work->back().memory.push_back(workspace.release());
  }
  return code;
}

// The program finalised the library, which destroyed the stream, or made another context current.
bool is_stale(int code) {
  return code == ACL_ERROR_RT_INVALID_HANDLE || code == ACL_ERROR_RT_CONTEXT_NULL ||
         code == ACL_ERROR_RT_STREAM_CONTEXT;
}

int again() {
  (void)aclGetRecentErrMsg();
  return kAgain;
}

}  // namespace

int run_and_wait(const Prepared& prepared, Phase2 phase2, const Place* place) {
  aclrtStream stream = nullptr;
  Workspace workspace;
  int code = thread_stream.get(&stream);
  if (code == 0) code = workspace.allocate(prepared.workspace_bytes);
  if (code == 0) {
    code = phase2(workspace.get(), prepared.workspace_bytes, prepared.executor, stream);
    if (code == 0) code = wait(stream, place, workspace);
  } else {
    (void)aclDestroyAclOpExecutor(prepared.executor);
  }
  return is_stale(code) && thread_stream.forget() ? again() : code;
}

void finish_interrupted_work() {
  if (interrupted_work == nullptr) return;
  int code = 0;
  {
    const nb::gil_scoped_release unlocked;
    aclrtStream stream = nullptr;
    code = thread_stream.get(&stream);
    if (code == 0) code = wait_for_signals_too(stream);
  }
  if (code == kInterrupted) throw nb::python_error();
  (void)aclGetRecentErrMsg();  // a fault of that work: its call has ended already
  delete std::exchange(interrupted_work, nullptr);
}

int require_current(const Place& place) {
  aclrtStream stream = nullptr;
  return place.get_stream(&stream);
}

int enqueue(const Place& place, const Prepared& prepared, Phase2 phase2) {
  aclrtStream stream = nullptr;
  nb::object workspace;  // its library reuses the memory for later work of the stream
  Array memory;
  int code = 0;
  try {
    code = place.get_stream(&stream);
    if (code == 0 && prepared.workspace_bytes > 0) {
      workspace = place.allocate_bytes(prepared.workspace_bytes);
      memory = describe(workspace, {"workspace"});
    }
  } catch (...) {
    (void)aclDestroyAclOpExecutor(prepared.executor);
    throw;
  }
  if (code == 0) {
    const nb::gil_scoped_release unlocked;
    code = phase2(memory.data, prepared.workspace_bytes, prepared.executor, stream);
  } else {
    (void)aclDestroyAclOpExecutor(prepared.executor);
  }
  return is_stale(code) && place.forget_stream() ? again() : code;
}

Tensor make_tensor(const Array& array) {
  const auto rank = static_cast<uint64_t>(array.rank);
  return Tensor(aclCreateTensor(array.dims.data(), rank, array.dtype, array.strides.data(), 0, ACL_FORMAT_ND,
                                array.dims.data(), rank, array.data));
}

TensorList make_list(std::span<const Array> arrays) {
  std::vector<Tensor> tensors;
  tensors.reserve(arrays.size());
  for (const Array& array : arrays) tensors.push_back(make_tensor(array));
  std::vector<const aclTensor*> handles;
  for (const Tensor& tensor : tensors) handles.push_back(tensor.get());
  TensorList list(aclCreateTensorList(handles.data(), handles.size()));
  for (Tensor& tensor : tensors) (void)tensor.release();  // the list owns them now
  return list;
}

IntArray make_int_array(std::span<const int64_t> numbers) {
  if (numbers.empty()) return {};
  return IntArray(aclCreateIntArray(numbers.data(), numbers.size()));
}

}  // namespace openaclnn::python
