// The checks of arguments. Each fails with 161002 and an error message with the argument, its value and the
// accepted values.
//
// Every room checks in this order, and the first failure is reported: dtypes, extents, ranks and shapes,
// attributes, formats, distinct elements of outputs, host arrays, and the limits of OPENACLNN_LIMITS=vendor.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "base/status.h"
#include "ops/contract.h"

namespace openaclnn {

inline constexpr aclFormat kPlain[] = {ACL_FORMAT_UNDEFINED, ACL_FORMAT_NCHW, ACL_FORMAT_NHWC,
                                       ACL_FORMAT_ND,        ACL_FORMAT_HWCN, ACL_FORMAT_NDHWC,
                                       ACL_FORMAT_NCDHW,     ACL_FORMAT_NC,   ACL_FORMAT_NCL};
// Bit k is set if the format with the number k - 1 is plain.
inline constexpr uint64_t kPlainBits = [] {
  uint64_t bits = 0;
  for (const aclFormat format : kPlain) bits |= uint64_t{1} << (static_cast<int>(format) + 1);
  return bits;
}();
constexpr bool is_plain(aclFormat format) {
  const unsigned bit = static_cast<unsigned>(format) + 1;
  return bit < 64 && (kPlainBits >> bit & 1) != 0;
}

// The failures of the checks below. Every call runs dozens of checks, so these are short and inline, and the
// texts are not.
namespace refusals {

[[gnu::cold]] Status dtype(const Argument& argument, std::span<const aclDataType> accepted);
[[gnu::cold]] Status same_dtype(const Argument& argument, const Argument& other);
[[gnu::cold]] Status kernel(const Argument& argument);
[[gnu::cold]] Status extent(const Argument& argument);
[[gnu::cold]] Status same_shape(const Argument& argument, const Argument& other);
[[gnu::cold]] Status format(const Argument& argument);
[[gnu::cold]] Status distinct_elements(const Argument& output);

}  // namespace refusals

inline Status require_dtype(const Argument& argument, std::span<const aclDataType> accepted) {
  for (const aclDataType dtype : accepted) {
    if (argument.dtype() == dtype) return {};
  }
  return refusals::dtype(argument, accepted);
}

inline Status require_same_dtype(const Argument& argument, const Argument& other) {
  return argument.dtype() == other.dtype() ? Status() : refusals::same_dtype(argument, other);
}

// For plan(), after the checks: a dtype without a kernel is an internal error, 561000.
inline Status require_kernel_for(const Argument& argument, std::span<const aclDataType> compiled) {
  for (const aclDataType dtype : compiled) {
    if (argument.dtype() == dtype) return {};
  }
  return refusals::kernel(argument);
}

// Checks that the rank is at most kMaxRank, no dim is negative, and counts, byte sizes and extents fit int64.
inline Status require_extents(std::initializer_list<const Argument*> arguments) {
  for (const Argument* argument : arguments) {
    if (argument->rank > kMaxRank || !argument->facts.fits) return refusals::extent(*argument);
  }
  return {};
}

// `meaning` names the dims: "[T, N, D]".
Status require_rank(const Argument& argument, uint64_t rank, const char* meaning = nullptr);
Status require_rank_at_least(const Argument& argument, uint64_t rank);
inline Status require_same_shape(const Argument& argument, const Argument& other) {
  bool is_same = argument.view.rank == other.view.rank;
  for (int k = 0; is_same && k < argument.view.rank; ++k)
    is_same = argument.view.dims[k] == other.view.dims[k];
  return is_same ? Status() : refusals::same_shape(argument, other);
}
// `meaning` names the source of the expected shape: "[numWeights, D]".
Status require_shape(const Argument& argument, std::span<const int64_t> expected, const char* meaning);

inline Status require_plain_formats(std::initializer_list<const Argument*> arguments) {
  for (const Argument* argument : arguments) {
    if (!is_plain(argument->format)) return refusals::format(*argument);
  }
  return {};
}
// Checks that no two elements of an output share an address.
inline Status require_distinct_elements(std::initializer_list<const Argument*> outputs) {
  for (const Argument* output : outputs) {
    if (output->facts.may_overlap_itself) return refusals::distinct_elements(*output);
  }
  return {};
}

}  // namespace openaclnn
