// A number that an operator reads from memory: an array of the caller's, or a Python number that is copied
// into memory.
#pragma once

#include <cstdint>
#include <optional>

#include "call.h"
#include "place.h"

namespace openaclnn::python {

// A Python number is stored in memory that the place keeps or, if a GPU computes, in memory of the arrays'
// library. None: the number is missing; an integer is always required.
template <class T>
class Number {
 public:
  Number(Place& place, nb::handle object, const char* name, aclDataType dtype);
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;

  Tensor tensor() const { return is_given_ ? make_tensor(array_) : Tensor(); }
  // The number, if it is in memory of the host and of this type.
  std::optional<T> host_value() const;

 private:
  Array array_;
  nb::object kept_;
  bool is_given_ = false;
};

extern template class Number<int64_t>;
extern template class Number<float>;

}  // namespace openaclnn::python
