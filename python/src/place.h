// Where a call computes: on the CPU, or on the GPU of its arrays, in the stream of their library.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "array.h"
#include "names.h"

namespace openaclnn::python {

// Returns whether the package computes on GPUs. openaclnn/_platform.py sets OPENACLNN_DEVICE before the
// library reads it.
bool computes_on_gpu();

// A CUDA stream, and the object that destroys it with its last reference; invalid if there is none.
struct NativeStream {
  void* address = nullptr;
  nb::object owner;
};

// Everything that an operator's work reads and writes, kept after its call has ended.
struct Used {
  std::vector<nb::object> objects;
  std::vector<std::shared_ptr<const void>> memory;
};

class Place {
 public:
  // `function` is the Python function that computes here, for error messages.
  explicit Place(const char* function) : caller_{function} {}

  const Caller& caller() const { return caller_; }

  // Rejects memory that the device cannot access, and a second GPU. The first array with elements
  // determines the GPU and the library whose stream and memory are used; `object` must outlive this.
  void require(nb::handle object, const Array& array, const Name& name);
  // Describes an argument and requires it.
  Array input(nb::handle object, const Name& name);
  Array output(nb::handle object, const Name& name);

  // Adds memory of the call that the operator uses besides the arrays of arguments.
  void use(std::shared_ptr<const void> memory) { memory_.push_back(std::move(memory)); }
  // Adds arrays in memory of the host that the caller has described; the objects must outlive this.
  void use(std::span<const nb::object> arrays, double bytes) {
    objects_.insert(objects_.end(), arrays.begin(), arrays.end());
    bytes_ += bytes;
  }
  // Takes references to all of it. The caller holds Python's lock.
  Used used() const;
  // Adds terms that the operator sums, if it reads arrays more than a few times.
  void add_terms(double terms) { terms_ += terms; }
  // Returns whether the call does so much work that a user may want to interrupt it.
  bool is_long() const { return bytes_ >= kBytesOfLongCalls || terms_ >= kTermsOfLongCalls; }

  // Rejects GPUs: the host computes `what` in its own memory.
  static void require_host(const char* what);

  // On a GPU: gets the stream of the arrays' library, in the thread's context. Returns a code.
  int get_stream(aclrtStream* stream) const;
  // Forgets that stream, which the runtime no longer knows; the next one is created again. Returns false if
  // there was none.
  bool forget_stream() const;

  // On a GPU: memory from the arrays' library, which is released in the order of its stream.
  nb::object allocate_bytes(uint64_t bytes) const;
  nb::object allocate_number(const nb::object& value, aclDataType dtype) const;

 private:
  // A thread that waits with a limit leaves the work to a worker, which starts later. Smaller calls end
  // before anybody could interrupt them.
  static constexpr double kBytesOfLongCalls = 32 << 20;
  static constexpr double kTermsOfLongCalls = 1e9;  // about 0.1 s on two cores of AMD Zen 4

  NativeStream native_stream() const;
  void require_array() const;

  Caller caller_;
  bool has_library_ = false;
  std::vector<nb::handle> objects_;  // alive as long as the call
  std::vector<std::shared_ptr<const void>> memory_;
  double bytes_ = 0;
  double terms_ = 0;
  nb::handle object_;
  Array array_;  // only its library and device are used
};

// Waits for all work of the package on GPUs; throws if it has a fault.
void synchronize();

}  // namespace openaclnn::python
