// The library's facts for openaclnn.doctor() and `python -m openaclnn`.
#include <dlfcn.h>
#include <malloc.h>

#include "base/codes.h"
#include "call.h"
#include "openaclnn/openaclnn.h"
#include "operators.h"
#include "torch_results.h"

namespace openaclnn::python {

namespace {

nb::tuple interface_version() {
  int32_t major = 0, minor = 0, patch = 0;
  require_success(aclrtGetVersion(&major, &minor, &patch));
  return nb::make_tuple(major, minor, patch);
}

std::string library_path() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<void*>(&aclrtGetVersion), &info) == 0 || info.dli_fname == nullptr) return {};
  return info.dli_fname;
}

uint32_t device_count() {
  uint32_t count = 0;
  require_success(aclrtGetDeviceCount(&count));
  return count;
}

nb::tuple memory_info() {
  aclrtContext context = nullptr;
  if (aclrtGetCurrentContext(&context) != 0) {
    (void)aclGetRecentErrMsg();
    require_success(aclrtSetDevice(0));
  }
  size_t free_bytes = 0, total_bytes = 0;
  require_success(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes));
  return nb::make_tuple(free_bytes, total_bytes);
}

// Pairs of a number and its name.
nb::list code_names() {
  nb::list names;
  for (const CodeName& known : openaclnn::code_names()) names.append(nb::make_tuple(known.code, known.name));
  return names;
}

// Triples: the first and last code of a range without names, and what its codes mean.
nb::list code_ranges() {
  nb::list ranges;
  for (const CodeRange& range : openaclnn::code_ranges())
    ranges.append(nb::make_tuple(range.first, range.last, range.meaning));
  return ranges;
}

// Returns the facts of an array as a dict, for tests of every kind of array.
nb::dict inspect(nb::handle object) {
  const Array array = describe(object, {"object"});
  nb::dict facts;
  nb::list dims, strides;
  for (int k = 0; k < array.rank; ++k) {
    dims.append(array.dims[k]);
    strides.append(array.strides[k]);
  }
  facts["data"] = reinterpret_cast<uintptr_t>(array.data);
  facts["dtype"] = static_cast<int>(array.dtype);
  facts["shape"] = nb::tuple(dims);
  facts["strides"] = nb::tuple(strides);
  facts["writable"] = array.is_writable;
  facts["memory"] = array.memory;
  return facts;
}

constexpr const char* kSynchronizeDoc =
    R"(Waits for all work of this package on GPUs.

With OPENACLNN_DEVICE=cuda, functions return when their work is in the stream of the arrays' library.
On the CPU they return when the work is done, so this function returns at once.

Raises
------
AclnnIndexError (an IndexError) : bad data that an operator found since the last call, such as an index
    outside a table. AclnnError : the GPU failed.)";

void release_memory() {
  release_torch_results();
  int code = 0;
  {
    const nb::gil_scoped_release unlocked;
#ifdef __GLIBC__
    (void)malloc_trim(0);  // PyTorch's memory comes from malloc
#endif
    code = openaclnnReleaseMemory();
  }
  require_success(code);
}

constexpr const char* kReleaseMemoryDoc =
    R"(Returns memory that the library keeps for its next calls to the system.

It keeps scratch memory of earlier calls, memory that pyACL's functions freed, and memory of large results of
openaclnn.torch that died. Other arrays belong to their own libraries, which have their own functions, such as
torch.cuda.empty_cache().

Raises
------
AclnnError : the GPU failed.)";

}  // namespace

void add_runtime(nb::module_& module) {
  module.def("release_memory", &release_memory, nb::sig("def release_memory()"), kReleaseMemoryDoc);
  module.def("synchronize", &synchronize, nb::sig("def synchronize()"), kSynchronizeDoc);
  module.def("interface_version", &interface_version, "The version of the C interface, three numbers.");
  module.def("code_names", &code_names, "Every code with its name in C.");
  module.def("code_ranges", &code_ranges, "Ranges of codes without names, and their meaning.");
  module.def("library_path", &library_path, "The file of libopenaclnn that is loaded.");
  module.def("device_count", &device_count, "How many devices the library shows.");
  module.def(
      "soc_name", [] { return std::string(aclrtGetSocName()); }, "The name of the device.");
  module.def("memory_info", &memory_info, "Free and all bytes of device 0.");
  module.def("inspect", &inspect, nb::arg("object"),
             "Address, dtype, shape, strides and memory of an array.");
}

}  // namespace openaclnn::python
