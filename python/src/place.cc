// Wraps streams of PyTorch and CuPy as streams of the library, and checks the memory of arguments.
#include "place.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "array_sources.h"
#include "failure.h"
#include "openaclnn/openaclnn.h"

namespace openaclnn::python {

namespace {

// Handles over the streams of other libraries, by device and address. PyTorch's streams live as long as the
// process. CuPy destroys a stream with its last reference, and CUDA may crash if it is queried about a
// destroyed stream: each handle therefore keeps a reference.
class WrappedStreams {
 public:
  struct Wrapped {
    int32_t device;
    void* address;
    aclrtStream handle;
  };

  int get(int32_t device, const NativeStream& native, aclrtStream* stream) {
    const std::lock_guard lock(mutex_);
    Kept& kept = streams_[{device, native.address}];
    if (!kept.owner.is_valid()) kept.owner = native.owner;
    if (kept.handle == nullptr) {
      if (const int code = openaclnnCreateStreamFromNative(native.address, &kept.handle); code != 0)
        return code;
    }
    *stream = kept.handle;
    return 0;
  }

  bool forget(int32_t device, void* address) { return take(device, address, false).has_value(); }

  // Destroys the handle of a stream that only this map still references, and with it the stream. Returns a
  // code.
  int end_unused(const Wrapped& stream) {
    const std::optional<Kept> unused = take(stream.device, stream.address, true);
    return unused ? aclrtDestroyStream(unused->handle) : 0;
  }

  std::vector<Wrapped> all() {
    const std::lock_guard lock(mutex_);
    std::vector<Wrapped> streams;
    for (const auto& [key, kept] : streams_) {
      if (kept.handle != nullptr) streams.push_back({key.first, key.second, kept.handle});
    }
    return streams;
  }

 private:
  struct Kept {
    aclrtStream handle = nullptr;
    nb::object owner;
  };

  // The caller drops the reference without the lock: Python may then run any code.
  std::optional<Kept> take(int32_t device, void* address, bool only_unused) {
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find({device, address});
    if (found == streams_.end()) return std::nullopt;
    const nb::object& owner = found->second.owner;
    if (only_unused && (!owner.is_valid() || Py_REFCNT(owner.ptr()) > 1)) return std::nullopt;
    std::optional<Kept> kept = std::move(found->second);
    streams_.erase(found);
    return kept;
  }

  std::mutex mutex_;
  std::map<std::pair<int32_t, void*>, Kept> streams_;
};

WrappedStreams& wrapped_streams() {
  static auto& streams = *new WrappedStreams;  // never destroyed: Python may end after the library
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
  if (!std::exchange(has_library_, true)) caller_.library = array.library;
  const auto memory = static_cast<Memory>(array.memory);
  if (!computes_on_gpu()) {
    if (objects_.empty()) objects_.reserve(16);
    objects_.push_back(object);
    if (array.keeper.is_valid()) objects_.push_back(array.keeper);
    double bytes = static_cast<double>(aclDataTypeSize(array.dtype));
    for (const int64_t dim : array.shape()) bytes *= static_cast<double>(dim);
    bytes_ += bytes;
    if (memory == Memory::cpu || memory == Memory::cuda_host || array.is_empty()) return;
    refuse(name,
           " is " + text_of_place(array) +
               ", but openaclnn computes on the CPU; copy it there, or set OPENACLNN_DEVICE=cuda before "
               "the program starts");
  }
  if (memory != Memory::cuda) {
    if (array.is_empty()) return;
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

Used Place::used() const {
  Used used{{}, memory_};
  for (const nb::handle object : objects_) used.objects.push_back(nb::borrow(object));
  return used;
}

Array Place::input(nb::handle object, const Name& name) {
  Array array = describe(object, name);
  require(object, array, name);
  return array;
}

Array Place::output(nb::handle object, const Name& name) {
  Array array = describe_output(object, name);
  require(object, array, name);
  return array;
}

void Place::require_host(const char* what) {
  if (!computes_on_gpu()) return;
  throw nb::value_error(
      (std::string(what) + " is computed by the host and not available with OPENACLNN_DEVICE=cuda").c_str());
}

NativeStream Place::native_stream() const {
  nb::object address;
  nb::object owner;
  if (array_.library == Library::torch) {
    const nb::object torch = nb::module_::import_("torch");
    address = torch.attr("cuda").attr("current_stream")(array_.device).attr("cuda_stream");
  } else if (array_.library == Library::cupy) {
    owner = nb::module_::import_("cupy").attr("cuda").attr("get_current_stream")(array_.device);
    address = owner.attr("ptr");
    // Such a stream has another lifetime than its object.
    if (nb::cast<std::string>(nb::type_name(owner.type())).ends_with("ExternalStream")) owner.reset();
  } else {
    return {};  // no stream given: CUDA's default one, which waits for all other blocking streams
  }
  void* const native = PyLong_AsVoidPtr(address.ptr());
  if (native == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
  return {native, std::move(owner)};
}

int Place::get_stream(aclrtStream* stream) const {
  if (const int code = bind(array_.device); code != 0) return code;
  return wrapped_streams().get(array_.device, native_stream(), stream);
}

bool Place::forget_stream() const { return wrapped_streams().forget(array_.device, native_stream().address); }

// Empty arrays may be in any memory, so that a call does not need one on a GPU.
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
  for (const WrappedStreams::Wrapped& stream : wrapped_streams().all()) {
    int code = 0;
    {
      const nb::gil_scoped_release unlocked;
      code = bind(stream.device);
      if (code == 0) code = aclrtSynchronizeStream(stream.handle);
    }
    require_success(code);
    require_success(wrapped_streams().end_unused(stream));
  }
}

}  // namespace openaclnn::python
