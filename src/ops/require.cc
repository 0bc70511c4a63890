// Implements the checks and their error messages.
#include "ops/require.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/dtype.h"
#include "base/text.h"

namespace openaclnn {

namespace {

// "29 (FRACTAL_NZ)", or the number alone.
std::string format_text(aclFormat format) {
  static constexpr std::pair<aclFormat, std::string_view> kNames[] = {
      {ACL_FORMAT_NC1HWC0, "NC1HWC0"},
      {ACL_FORMAT_FRACTAL_Z, "FRACTAL_Z"},
      {ACL_FORMAT_NC1HWC0_C04, "NC1HWC0_C04"},
      {ACL_FORMAT_FRACTAL_NZ, "FRACTAL_NZ"},
      {ACL_FORMAT_NDC1HWC0, "NDC1HWC0"},
      {ACL_FRACTAL_Z_3D, "FRACTAL_Z_3D"},
      {ACL_FORMAT_FRACTAL_NZ_C0_16, "FRACTAL_NZ_C0_16"},
      {ACL_FORMAT_FRACTAL_NZ_C0_32, "FRACTAL_NZ_C0_32"},
      {ACL_FORMAT_FRACTAL_NZ_C0_2, "FRACTAL_NZ_C0_2"},
      {ACL_FORMAT_FRACTAL_NZ_C0_4, "FRACTAL_NZ_C0_4"},
      {ACL_FORMAT_FRACTAL_NZ_C0_8, "FRACTAL_NZ_C0_8"}};
  const std::string number = std::to_string(static_cast<int>(format));
  for (const auto& [named, name] : kNames) {
    if (named == format) return text(number, " (", name, ")");
  }
  return number;
}

}  // namespace

namespace refusals {

Status dtype(const Argument& argument, std::span<const aclDataType> accepted) {
  std::string list;
  for (size_t k = 0; k < accepted.size(); ++k) {
    if (k > 0) list += k + 1 == accepted.size() ? " or " : ", ";
    list += dtype_name(accepted[k]);
  }
  return invalid(argument.name, " has dtype ", dtype_name(argument.dtype()), "; it must be ", list);
}

Status same_dtype(const Argument& argument, const Argument& other) {
  return invalid(argument.name, " has dtype ", dtype_name(argument.dtype()), " but ", other.name,
                 " has dtype ", dtype_name(other.dtype()), "; they must be equal");
}

Status kernel(const Argument& argument) {
  return {ACLNN_ERR_INNER,
          text("internal error: ", argument.name, " has dtype ", dtype_name(argument.dtype()),
               ", which no kernel is compiled for; the checks should have rejected it")};
}

Status extent(const Argument& argument) {
  if (argument.rank <= kMaxRank) return check_extent(argument.name, argument.view);
  return invalid(argument.name, " has rank ", argument.rank, "; at most ", kMaxRank, " is accepted");
}

Status same_shape(const Argument& argument, const Argument& other) {
  return invalid(argument.name, " has shape ", shape_text(argument.view.shape()), " but ", other.name,
                 " has shape ", shape_text(other.view.shape()), "; they must be equal");
}

Status format(const Argument& argument) {
  return invalid(
      argument.name, " has format ", format_text(argument.format),
      "; only plain layouts are accepted: UNDEFINED, NCHW, NHWC, ND, HWCN, NDHWC, NCDHW, NC or NCL");
}

Status distinct_elements(const Argument& output) {
  const TensorView& view = output.view;
  return invalid(output.name, " has shape ", shape_text(view.shape()), " and strides ",
                 shape_text({view.strides, static_cast<size_t>(view.rank)}),
                 ", so elements may share memory; an output's elements must be distinct");
}

}  // namespace refusals

Status require_rank(const Argument& argument, uint64_t rank, const char* meaning) {
  if (argument.rank == rank) return {};
  std::string sentence =
      text(argument.name, " has shape ", shape_text(argument.view.shape()), "; its rank must be ", rank);
  if (meaning != nullptr) sentence += text(": ", meaning);
  return invalid(std::move(sentence));
}

Status require_rank_at_least(const Argument& argument, uint64_t rank) {
  if (argument.rank >= rank) return {};
  return invalid(argument.name, " has shape ", shape_text(argument.view.shape()),
                 "; its rank must be at least ", rank);
}

Status require_shape(const Argument& argument, std::span<const int64_t> expected, const char* meaning) {
  if (std::ranges::equal(argument.view.shape(), expected)) return {};
  return invalid(argument.name, " has shape ", shape_text(argument.view.shape()), "; it must be ", meaning,
                 " = ", shape_text(expected));
}

}  // namespace openaclnn
