// Widens the elements of arrays.
#include "verify/array.h"

#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>

#include "verify/number.h"

namespace openaclnn_verify {

namespace {

// Calls widen_one(bits) for `to.size()` elements of this type.
template <class Bits, class WidenOne>
void widen_all(const std::byte* from, std::span<double> to, const WidenOne& widen_one) {
  for (size_t i = 0; i < to.size(); ++i) {
    Bits bits;
    std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
    to[i] = static_cast<double>(widen_one(bits));
  }
}

template <class Number>
void widen_numbers(const std::byte* from, std::span<double> to) {
  widen_all<Number>(from, to, [](Number number) { return number; });
}

// All values of FLOAT16, because its conversion from the definition is slow.
const std::vector<float>& float16_values() {
  static const std::vector<float> values = [] {
    std::vector<float> made(size_t{1} << 16);
    for (size_t bits = 0; bits < made.size(); ++bits)
      made[bits] = static_cast<float>(decode(ACL_FLOAT16, bits));
    return made;
  }();
  return values;
}

}  // namespace

int64_t Array::numel() const { return count_elements(dims); }

int64_t Array::bytes() const { return numel() * element_bytes(dtype); }

void Array::widen(int64_t begin, std::span<double> to) const {
  const std::byte* const from = data.get() + begin * element_bytes(dtype);
  switch (dtype) {
    case ACL_DOUBLE: return widen_numbers<double>(from, to);
    case ACL_FLOAT: return widen_numbers<float>(from, to);
    case ACL_BF16:
      return widen_all<uint16_t>(
          from, to, [](uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); });
    case ACL_FLOAT16:
      return widen_all<uint16_t>(from, to, [&all = float16_values()](uint16_t bits) { return all[bits]; });
    case ACL_INT8: return widen_numbers<int8_t>(from, to);
    case ACL_UINT8:
    case ACL_BOOL: return widen_numbers<uint8_t>(from, to);
    case ACL_INT16: return widen_numbers<int16_t>(from, to);
    case ACL_UINT16: return widen_numbers<uint16_t>(from, to);
    case ACL_INT32: return widen_numbers<int32_t>(from, to);
    case ACL_UINT32: return widen_numbers<uint32_t>(from, to);
    case ACL_INT64: return widen_numbers<int64_t>(from, to);
    case ACL_UINT64: return widen_numbers<uint64_t>(from, to);
    default: throw std::invalid_argument(std::string(dtype_name(dtype)) + " has no real numbers");
  }
}

double Array::get(int64_t element) const {
  double value;
  widen(element, {&value, 1});
  return value;
}

Array borrowed_array(aclDataType dtype, Shape dims, const void* data) {
  const auto* const bytes = static_cast<const std::byte*>(data);
  return {dtype, std::move(dims), std::shared_ptr<const std::byte>(std::shared_ptr<void>(), bytes)};
}

}  // namespace openaclnn_verify
