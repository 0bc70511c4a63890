// Implements the checks and their error messages.
#include "ops/require.h"

#include <algorithm>
#include <string>

#include "base/dtype.h"
#include "base/text.h"

namespace openaclnn {

namespace {

Status invalid(std::string sentence) { return {ACLNN_ERR_PARAM_INVALID, std::move(sentence)}; }

}  // namespace

namespace refusals {

Status dtype(const Argument& argument, std::span<const aclDataType> accepted) {
  std::string list;
  for (size_t k = 0; k < accepted.size(); ++k) {
    if (k > 0) list += k + 1 == accepted.size() ? " or " : ", ";
    list += dtype_name(accepted[k]);
  }
  return invalid(text(argument.name, " has dtype ", dtype_name(argument.dtype()), "; it must be ", list));
}

Status same_dtype(const Argument& argument, const Argument& other) {
  return invalid(text(argument.name, " has dtype ", dtype_name(argument.dtype()), " but ", other.name,
                      " has dtype ", dtype_name(other.dtype()), "; they must be equal"));
}

Status kernel(const Argument& argument) {
  return {ACLNN_ERR_INNER,
          text("internal error: ", argument.name, " has dtype ", dtype_name(argument.dtype()),
               ", which no kernel is compiled for; the checks should have rejected it")};
}

Status extent(const Argument& argument) {
  if (argument.rank <= kMaxRank) return check_extent(argument.name, argument.view);
  return invalid(text(argument.name, " has rank ", argument.rank, "; at most ", kMaxRank, " is accepted"));
}

Status same_shape(const Argument& argument, const Argument& other) {
  return invalid(text(argument.name, " has shape ", shape_text(argument.view.shape()), " but ", other.name,
                      " has shape ", shape_text(other.view.shape()), "; they must be equal"));
}

Status format(const Argument& argument) {
  return invalid(
      text(argument.name, " has format ", static_cast<int>(argument.format),
           "; only plain layouts are accepted: UNDEFINED, NCHW, NHWC, ND, HWCN, NDHWC, NCDHW, NC or NCL"));
}

Status distinct_elements(const Argument& output) {
  const TensorView& view = output.view;
  return invalid(text(output.name, " has shape ", shape_text(view.shape()), " and strides ",
                      shape_text({view.strides, static_cast<size_t>(view.rank)}),
                      ", so elements may share memory; an output's elements must be distinct"));
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
  return invalid(text(argument.name, " has shape ", shape_text(argument.view.shape()),
                      "; its rank must be at least ", rank));
}

Status require_shape(const Argument& argument, std::span<const int64_t> expected, const char* meaning) {
  if (std::ranges::equal(argument.view.shape(), expected)) return {};
  return invalid(text(argument.name, " has shape ", shape_text(argument.view.shape()), "; it must be ",
                      meaning, " = ", shape_text(expected)));
}

}  // namespace openaclnn
