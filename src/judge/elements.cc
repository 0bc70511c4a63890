// Classes of dtypes, and exact comparisons.
#include "judge/elements.h"

#include <cstring>

#include "verify/number.h"

namespace openaclnn_judge {

Family family_of(aclDataType dtype) {
  switch (dtype) {
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_FLOAT:
    case ACL_DOUBLE: return Family::floating;
    case ACL_BOOL:
    case ACL_UINT8: return Family::boolean;
    case ACL_INT8:
    case ACL_INT32:
    case ACL_INT64: return Family::integer;
    case ACL_COMPLEX64:
    case ACL_COMPLEX128: return Family::complex;
    default: return Family::other;
  }
}

bool is_16_bit(aclDataType dtype) { return dtype == ACL_FLOAT16 || dtype == ACL_BF16; }

bool has_detail_rules(aclDataType dtype) { return is_16_bit(dtype) || dtype == ACL_FLOAT; }

bool has_long_integers(const Array& device, const Array& golden) {
  return device.dtype == golden.dtype && (device.dtype == ACL_INT64 || device.dtype == ACL_UINT64);
}

double integer_distance(const Array& device, const Array& golden, int64_t element) {
  uint64_t d = 0, g = 0;
  std::memcpy(&d, device.data.get() + element * int64_t{sizeof d}, sizeof d);
  std::memcpy(&g, golden.data.get() + element * int64_t{sizeof g}, sizeof g);
  const bool is_greater =
      device.dtype == ACL_INT64 ? static_cast<int64_t>(d) > static_cast<int64_t>(g) : d > g;
  return static_cast<double>(is_greater ? d - g
                                        : g - d);  // modulo 2^64, so signed numbers need no other formula
}

int64_t count_different(const Pair& pair) {
  int64_t different = 0;
  if (pair.device.dtype == pair.golden.dtype && family_of(pair.device.dtype) != Family::floating) {
    const auto size = static_cast<size_t>(openaclnn_verify::element_bytes(pair.device.dtype));
    const int64_t count = pair.device.numel();
    for (int64_t i = 0; i < count; ++i) {
      const auto offset = static_cast<ptrdiff_t>(i) * static_cast<ptrdiff_t>(size);
      different +=
          std::memcmp(pair.device.data.get() + offset, pair.golden.data.get() + offset, size) != 0 ? 1 : 0;
    }
    return different;
  }
  const Precision precision(pair.device.dtype, pair.golden.dtype);
  for_each_element(pair.device, pair.golden,
                   [&](double d, double g) { different += d != precision.golden(g) ? 1 : 0; });
  return different;
}

int64_t count_different_bits(const Pair& pair) {
  const aclDataType dtype = pair.device.dtype;
  const auto size = static_cast<size_t>(openaclnn_verify::element_bytes(dtype));
  const bool rounds = dtype != pair.golden.dtype;
  int64_t different = 0;
  const int64_t count = pair.device.numel();
  for (int64_t i = 0; i < count; ++i) {
    const std::byte* const device = pair.device.data.get() + i * static_cast<int64_t>(size);
    if (!rounds) {
      different += std::memcmp(device, pair.golden.data.get() + i * static_cast<int64_t>(size), size) != 0;
      continue;
    }
    uint64_t bits = 0;
    std::memcpy(&bits, device, size);
    const double golden = pair.golden.get(i);
    // An exact NaN stands for every NaN.
    if (std::isnan(golden) && std::isnan(pair.device.get(i))) continue;
    different += bits != openaclnn_verify::encode(dtype, golden) ? 1 : 0;
  }
  return different;
}

Precision::Precision(aclDataType device, aclDataType golden)
    : cast_dtype(device == ACL_BF16 ? ACL_FLOAT : device),
      rounds_golden(golden == ACL_DOUBLE && is_16_bit(device)),
      is_single((golden != ACL_DOUBLE || rounds_golden) && device != ACL_DOUBLE),
      epsilon(device == ACL_BF16                       ? 0x1p-8
              : golden == ACL_DOUBLE && !rounds_golden ? 0x1p-52
                                                       : 0x1p-23) {}

double Precision::cast(double g) const { return openaclnn_verify::round_to(cast_dtype, golden(g)); }

}  // namespace openaclnn_judge
