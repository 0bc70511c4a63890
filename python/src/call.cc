// Runs an operator in a stream that belongs to the calling thread, and waits for it.
#include "call.h"

#include <string>

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

  // Forgets a stream that the runtime no longer knows, and a context that was destroyed. Returns whether
  // there was one.
  bool forget() { return std::exchange(stream_, nullptr) != nullptr; }

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
  ~Workspace() {
    if (memory_ != nullptr) (void)aclrtFree(memory_);
  }
  int allocate(uint64_t bytes) {
    return bytes == 0 ? 0 : aclrtMalloc(&memory_, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
  }
  void* get() const { return memory_; }

 private:
  void* memory_ = nullptr;
};

// The program finalised the library: the stream is destroyed.
bool is_stale(int code) { return code == ACL_ERROR_RT_INVALID_HANDLE || code == ACL_ERROR_RT_CONTEXT_NULL; }

int again() {
  (void)aclGetRecentErrMsg();
  return kAgain;
}

}  // namespace

int run_and_wait(const Prepared& prepared, Phase2 phase2) {
  aclrtStream stream = nullptr;
  Workspace workspace;
  int code = thread_stream.get(&stream);
  if (code == 0) code = workspace.allocate(prepared.workspace_bytes);
  if (code == 0) {
    code = phase2(workspace.get(), prepared.workspace_bytes, prepared.executor, stream);
    if (code == 0) code = aclrtSynchronizeStream(stream);
  } else {
    (void)aclDestroyAclOpExecutor(prepared.executor);
  }
  return is_stale(code) && thread_stream.forget() ? again() : code;
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
