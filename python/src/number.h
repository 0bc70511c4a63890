// A number that an operator reads from memory: an array of the caller's, or a number of Python, which is put there.
#pragma once

#include <cstdint>

#include "call.h"
#include "place.h"

namespace openaclnn::python {

// A number of Python stays in this object, or, where a GPU computes, lies in memory of the arrays' library. None: there is no such
// number; an integer is always needed.
template <class T>
class Number {
 public:
  Number(Place& place, nb::handle object, const char* name, aclDataType dtype);
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;

  Tensor tensor() const { return is_given_ ? make_tensor(array_) : Tensor(); }

 private:
  T value_ = 0;
  Array array_;
  nb::object kept_;
  bool is_given_ = false;
};

extern template class Number<int64_t>;
extern template class Number<float>;

}  // namespace openaclnn::python
