// The model of phase 1. It is written from the public headers and shares no code with the library.
#include "support/schema_model.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "support/verify.h"
#include "verify/number.h"

namespace openaclnn_test {

namespace {

bool fits_int64(Wide value) { return value >= INT64_MIN && value <= INT64_MAX; }

// Strides as the library interprets them: NULL is row-major. Saturated: only tensors of rejected extents
// saturate.
std::vector<Wide> strides_of(const TensorArgument& tensor) {
  if (!tensor.strides.empty()) return {tensor.strides.begin(), tensor.strides.end()};
  std::vector<Wide> strides(tensor.dims.size(), 1);
  for (size_t k = strides.size(); k-- > 1;) {
    const Wide product = strides[k] * std::max<int64_t>(tensor.dims[k], 1);
    strides[k - 1] = fits_int64(product) ? product : Wide{INT64_MAX};
  }
  return strides;
}

std::string extent_refusal(const TensorArgument& tensor) {
  const std::string name = tensor.name + " has ";
  if (tensor.dims.size() > 8) return name + "rank " + std::to_string(tensor.dims.size()) + ";";
  for (size_t k = 0; k < tensor.dims.size(); ++k) {
    if (tensor.dims[k] < 0)
      return name + "shape " + list_text(tensor.dims) + "; dim " + std::to_string(k) + " is negative";
  }
  if (std::ranges::count(tensor.dims, 0) > 0) return "";
  const std::vector<Wide> strides = strides_of(tensor);
  const Wide bytes = element_bytes(tensor.dtype);
  Wide count = 1, lowest = tensor.offset, highest = tensor.offset;
  for (size_t k = 0; k < tensor.dims.size(); ++k) {
    if (fits_int64(count)) count *= tensor.dims[k];
    (strides[k] < 0 ? lowest : highest) += (tensor.dims[k] - 1) * strides[k];
  }
  // The lowest byte may be -2^63, but then the distance to the end does not fit.
  const Wide begin = lowest * bytes, end = (highest + 1) * bytes;
  const bool fits = fits_int64(count * bytes) && begin > INT64_MIN && fits_int64(begin) && fits_int64(end);
  return fits && fits_int64(end - begin) ? "" : name + "shape " + list_text(tensor.dims) + ", strides ";
}

bool has_plain_format(const TensorArgument& tensor) {
  constexpr int kPlain[] = {-1, 0, 1, 2, 16, 27, 30, 35, 47};
  return std::find(std::begin(kPlain), std::end(kPlain), static_cast<int>(tensor.format)) != std::end(kPlain);
}

// Each step along a dim must exceed the reach of the smaller strides.
bool may_overlap_itself(const TensorArgument& tensor) {
  if (std::ranges::count(tensor.dims, 0) > 0) return false;
  const std::vector<Wide> strides = strides_of(tensor);
  std::vector<std::pair<Wide, int64_t>> steps;
  for (size_t k = 0; k < strides.size(); ++k) {
    if (tensor.dims[k] > 1) steps.emplace_back(strides[k] < 0 ? -strides[k] : strides[k], tensor.dims[k]);
  }
  std::ranges::sort(steps);
  Wide reach = 0;
  for (const auto& [stride, size] : steps) {
    if (stride <= reach) return true;
    reach += (size - 1) * stride;
  }
  return false;
}

Verdict invalid(std::string part) { return {kInvalid, std::move(part)}; }

}  // namespace

const std::vector<double> kRealBorders = {0.0,
                                          -0.0,
                                          1.0,
                                          -1.0,
                                          2.0,
                                          std::numeric_limits<double>::infinity(),
                                          -std::numeric_limits<double>::infinity(),
                                          std::numeric_limits<double>::quiet_NaN(),
                                          std::numeric_limits<double>::denorm_min(),
                                          std::numeric_limits<double>::max(),
                                          std::numeric_limits<double>::lowest(),
                                          0x1p-149,
                                          0x1p128};

Verdict verdict_of(const Schema& schema, const CallArguments& call) {
  if (!call.has_workspace_pointer) return {kNull, "workspaceSize is NULL"};
  if (!call.has_executor_pointer) return {kNull, "executor is NULL"};
  for (const TensorArgument& tensor : call.tensors) {
    if (!tensor.is_given() && !tensor.is_optional) return {kNull, tensor.name + " is NULL"};
  }
  const auto is_spoilt = [](Handle handle) { return handle != Handle::live && handle != Handle::null; };
  for (const TensorArgument& tensor : call.tensors) {
    if (is_spoilt(tensor.handle)) return invalid(tensor.name + " is not a live tensor");
  }
  if (call.array && is_spoilt(call.array->handle)) return invalid(call.array->name + " is not a live");
  for (const TensorArgument& tensor : call.tensors) {
    if (!tensor.is_given() || element_bytes(tensor.dtype) == 0) continue;  // such a dtype is rejected below
    if (const std::string part = extent_refusal(tensor); !part.empty()) return invalid(part);
  }
  if (const std::string part = schema.refusal(call); !part.empty()) return invalid(part);
  for (const TensorArgument& tensor : call.tensors) {
    if (tensor.is_given() && !has_plain_format(tensor))
      return invalid(tensor.name + " has format " + std::to_string(static_cast<int>(tensor.format)));
  }
  for (const TensorArgument& tensor : call.tensors) {
    if (tensor.is_given() && tensor.role != Role::input && may_overlap_itself(tensor))
      return invalid(says_shape(tensor) + " and strides ");
  }
  return {};
}

}  // namespace openaclnn_test
