// Streams of PyTorch and CuPy as streams of the library, and what may be where.
#include "place.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "array_sources.h"
#include "failure.h"
#include "openaclnn/openaclnn.h"

namespace openaclnn::python {

namespace {

// Handles over the streams of other libraries, by device and address. PyTorch's live as long as the process; where another library
// destroys one and CUDA gives its address to the next, the handle means that one.
class WrappedStreams {
 public:
  int get(int32_t device, void* native, aclrtStream* stream) {
    const std::lock_guard lock(mutex_);
    aclrtStream& kept = streams_[{device, native}];
    if (kept == nullptr) {
      if (const int code = openaclnnCreateStreamFromNative(native, &kept); code != 0) return code;
    }
    *stream = kept;
    return 0;
  }

  bool forget(int32_t device, void* native) {
    const std::lock_guard lock(mutex_);
    return streams_.erase({device, native}) > 0;
  }

  std::vector<std::pair<int32_t, aclrtStream>> all() {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<int32_t, aclrtStream>> streams;
    for (const auto& [key, stream] : streams_) {
      if (stream != nullptr) streams.emplace_back(key.first, stream);
    }
    return streams;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<int32_t, void*>, aclrtStream> streams_;
};

WrappedStreams& wrapped_streams() {
  static auto& streams = *new WrappedStreams;  // never destroyed: the library may be gone before Python ends
  return streams;
}

// Makes the device current on this thread. Returns a code.
int bind(int32_t device) {
  int32_t current = -1;
  if (aclrtGetDevice(&current) == 0 && current == device) return 0;
  (void)aclGetRecentErrMsg();
  return aclrtSetDevice(device);
}

std::string text_of_place(const Array& array) {
  switch (static_cast<Memory>(array.memory)) {
    case Memory::cpu: return "in memory of the host";
    case Memory::cuda: return "on cuda:" + std::to_string(array.device);
    default: return "on DLPack device type " + std::to_string(array.memory);
  }
}

[[noreturn]] void refuse(const Name& name, const std::string& what) {
  throw nb::value_error((name.text() + what).c_str());
}

}  // namespace

bool computes_on_gpu() {
  static const bool is_gpu = [] {
    const char* const device = std::getenv("OPENACLNN_DEVICE");
    return device != nullptr && std::string_view(device) == "cuda";
  }();
  return is_gpu;
}

void Place::require(nb::handle object, const Array& array, const Name& name) {
  const auto memory = static_cast<Memory>(array.memory);
  if (!computes_on_gpu()) {
    if (memory == Memory::cpu || memory == Memory::cuda_host || array.numel() == 0) return;
    refuse(name,
           " is " + text_of_place(array) +
               ", but openaclnn computes on the CPU; copy it there, or set OPENACLNN_DEVICE=cuda before "
               "the program starts");
  }
  if (memory != Memory::cuda) {
    if (array.numel() == 0) return;
    refuse(name,
           " is " + text_of_place(array) +
               ", but OPENACLNN_DEVICE is cuda; copy it to a GPU, or unset that before the program starts");
  }
  if (array.library == Library::jax)
    refuse(name, " is an array of JAX on a GPU; there PyTorch's and CuPy's are accepted");
  if (!object_.is_valid()) {
    object_ = object;
    array_ = array;
  } else if (array.device != array_.device) {
    refuse(name, " is " + text_of_place(array) + ", but arrays before it are " + text_of_place(array_) +
                     "; all must be on one device");
  }
}

void Place::require_host(const char* what) {
  if (!computes_on_gpu()) return;
  throw nb::value_error(
      (std::string(what) + " is computed by the host and not available with OPENACLNN_DEVICE=cuda").c_str());
}

void* Place::native_stream() const {
  nb::object address;
  if (array_.library == Library::torch) {
    const nb::object torch = nb::module_::import_("torch");
    address = torch.attr("cuda").attr("current_stream")(array_.device).attr("cuda_stream");
  } else if (array_.library == Library::cupy) {
    address = nb::module_::import_("cupy").attr("cuda").attr("get_current_stream")().attr("ptr");
  } else {
    return nullptr;  // others speak of no stream: CUDA's default one, which waits for all that are not told otherwise
  }
  void* const native = PyLong_AsVoidPtr(address.ptr());
  if (native == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
  return native;
}

int Place::get_stream(aclrtStream* stream) const {
  if (const int code = bind(array_.device); code != 0) return code;
  return wrapped_streams().get(array_.device, native_stream(), stream);
}

bool Place::forget_stream() const { return wrapped_streams().forget(array_.device, native_stream()); }

// Empty arrays may lie anywhere, so that a call need not have one on a GPU.
void Place::require_array() const {
  if (!object_.is_valid())
    throw nb::value_error(
        "no array of the call is on a GPU, but OPENACLNN_DEVICE is cuda; at least one must be");
}

nb::object Place::allocate_bytes(uint64_t bytes) const {
  require_array();
  const int64_t count = static_cast<int64_t>(bytes);
  return allocate(object_, array_, ACL_UINT8, {&count, 1});
}

nb::object Place::allocate_number(const nb::object& value, aclDataType dtype) const {
  require_array();
  return allocate_full(object_, array_, dtype, value);
}

void synchronize() {
  for (const auto& [device, stream] : wrapped_streams().all()) {
    int code = 0;
    {
      const nb::gil_scoped_release unlocked;
      code = bind(device);
      if (code == 0) code = aclrtSynchronizeStream(stream);
    }
    require_success(code);
  }
}

}  // namespace openaclnn::python
