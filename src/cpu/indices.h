// Reading index tensors: values of any index dtype as int64, and collecting the positions that are out of range.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>

#include "acl/acl_base.h"
#include "base/float16.h"
#include "base/planted.h"
#include "runtime/fault.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

// One byte, nonzero means 1.
struct BoolByte {
  uint8_t byte;
};

// The integer that an element stands for; false when it stands for none. Floating values are truncated toward zero; NaN,
// infinities and magnitudes of 2^63 and above have no integer.
template <class T>
inline bool index_value(T element, int64_t& value) {
  value = static_cast<int64_t>(element);
  return true;
}
inline bool index_value(BoolByte element, int64_t& value) {
  value = element.byte != 0 ? 1 : 0;
  return true;
}
inline bool index_value(double element, int64_t& value) {
  if (!(std::fabs(element) < 0x1p63)) return false;
  value = static_cast<int64_t>(element);
  return true;
}
inline bool index_value(float element, int64_t& value) {
  return index_value(static_cast<double>(element), value);
}
inline bool index_value(Float16 element, int64_t& value) {
  return index_value(static_cast<double>(widen(element)), value);
}

// The element as the fault sentence shows it.
template <class T>
inline void show_element(T element, Fault& fault) {
  fault.value = static_cast<int64_t>(element);
}
inline void show_element(BoolByte element, Fault& fault) { fault.value = element.byte != 0 ? 1 : 0; }
inline void show_element(double element, Fault& fault) {
  fault.is_real = true;
  fault.real_value = element;
}
inline void show_element(float element, Fault& fault) { show_element(static_cast<double>(element), fault); }
inline void show_element(Float16 element, Fault& fault) {
  show_element(static_cast<double>(widen(element)), fault);
}

// Calls visit(T()) with the storage type of an index dtype.
template <class Visit>
inline void with_index_type(aclDataType dtype, const Visit& visit) {
  switch (dtype) {
    case ACL_INT8: return visit(int8_t());
    case ACL_UINT8: return visit(uint8_t());
    case ACL_INT16: return visit(int16_t());
    case ACL_INT32: return visit(int32_t());
    case ACL_INT64: return visit(int64_t());
    case ACL_BOOL: return visit(BoolByte());
    case ACL_FLOAT16: return visit(Float16());
    case ACL_FLOAT: return visit(float());
    default: return visit(double());
  }
}

// Out-of-range positions found by several threads: how many, and the lowest. Its result does not depend on their order.
class FaultScan {
 public:
  void add(int64_t position) {
    count_.fetch_add(1, std::memory_order_relaxed);
    if (planted(Bug::fault_position_of_the_last)) return lowest_.store(position, std::memory_order_relaxed);
    int64_t lowest = lowest_.load(std::memory_order_relaxed);
    while (position < lowest && !lowest_.compare_exchange_weak(lowest, position, std::memory_order_relaxed)) {
    }
  }
  int64_t count() const { return count_.load(std::memory_order_relaxed); }
  int64_t lowest() const { return lowest_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> count_{0};
  std::atomic<int64_t> lowest_{INT64_MAX};
};

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
