// Where a call computes: on the CPU, or on the GPU that its arrays are on, in the stream of their library.
#pragma once

#include <cstdint>

#include "array.h"

namespace openaclnn::python {

// Whether the package computes on GPUs. openaclnn/_platform.py settles OPENACLNN_DEVICE before the library looks at it.
bool computes_on_gpu();

// A stream of CUDA, and the object that destroys it with its last reference; invalid where there is none.
struct NativeStream {
  void* address = nullptr;
  nb::object owner;
};

class Place {
 public:
  // Refuses memory that the device cannot reach, and a second GPU. The first array that has elements says which GPU it is and which
  // library's stream and memory are used; `object` must outlive this.
  void require(nb::handle object, const Array& array, const Name& name);
  // Describes an argument and requires it.
  Array input(nb::handle object, const Name& name);
  Array output(nb::handle object, const Name& name);

  // Refuses GPUs: `what` is computed by the host, in its own memory.
  static void require_host(const char* what);

  // On a GPU: the stream in which the arrays' library enqueues its work, in the thread's context. Returns a code.
  int get_stream(aclrtStream* stream) const;
  // Forgets that stream, which the runtime does not know any more; the next one is made anew. false: there was none.
  bool forget_stream() const;

  // On a GPU: memory that the arrays' library gives, and takes back in the order of its stream.
  nb::object allocate_bytes(uint64_t bytes) const;
  nb::object allocate_number(const nb::object& value, aclDataType dtype) const;

 private:
  NativeStream native_stream() const;
  void require_array() const;

  nb::handle object_;
  Array array_;  // rank and layout mean nothing
};

// Waits for all work of the package on GPUs; a fault of it throws.
void synchronize();

}  // namespace openaclnn::python
