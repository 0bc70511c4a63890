// Formats the faulty element of an index tensor for the error message.
#pragma once

#include <cstdint>

#include "base/fault.h"
#include "base/float16.h"
#include "base/inline.h"
#include "base/storage_types.h"

namespace openaclnn {

template <class T>
OPENACLNN_INLINE void show_element(T element, Fault& fault) {
  fault.value = static_cast<int64_t>(element);
}
OPENACLNN_INLINE void show_element(BoolByte element, Fault& fault) {
  fault.value = element.byte != 0 ? 1 : 0;
}
OPENACLNN_INLINE void show_element(double element, Fault& fault) {
  fault.is_real = true;
  fault.real_value = element;
}
OPENACLNN_INLINE void show_element(float element, Fault& fault) {
  show_element(static_cast<double>(element), fault);
}
OPENACLNN_INLINE void show_element(Float16 element, Fault& fault) {
  show_element(static_cast<double>(widen(element)), fault);
}

}  // namespace openaclnn
