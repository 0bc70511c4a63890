// Reasons of verdicts, and the checks that all rules share.
#include "judge/verdict.h"

#include "base/text.h"
#include "verify/number.h"

namespace openaclnn_judge {

using openaclnn::shape_text;
using openaclnn::text;
using openaclnn_verify::dtype_name;

void Judgement::require(const std::string& name, double value, bool is_accepted, const std::string& accepted,
                        Result otherwise) {
  const Result result = is_accepted ? Result::pass : otherwise;
  verdict_.metrics.push_back({name, value, accepted, result});
  if (result > verdict_.result && result > Result::pass)
    verdict_.reason = text(name, ": ", number_text(value, 6), "; accepted: ", accepted);
  if (result > verdict_.result) verdict_.result = result;
}

Verdict Judgement::finish() {
  if (verdict_.result == Result::skip) verdict_.result = Result::pass;
  return verdict_;
}

Verdict skipped(const char* rule, const std::string& reason) { return {rule, Result::skip, reason, {}}; }

Verdict failed(const char* rule, const std::string& reason) { return {rule, Result::error, reason, {}}; }

namespace {

bool accepts(Dtypes dtypes, aclDataType dtype) {
  const Family family = family_of(dtype);
  switch (dtypes) {
    case Dtypes::msprobe: return has_detail_rules(dtype);
    case Dtypes::floating: return family == Family::floating;
    case Dtypes::real: return family != Family::complex && openaclnn_verify::element_bytes(dtype) > 0;
    default: return openaclnn_verify::element_bytes(dtype) > 0;
  }
}

std::optional<Verdict> unfit_third(const char* rule, const Pair& pair, Dtypes dtypes) {
  if (!pair.third || !pair.third->has_data())
    return skipped(rule, text("the rule ", rule, " needs the result of a third device"));
  if (pair.third->dims != pair.device.dims)
    return failed(rule, text("the third result has shape ", shape_text(pair.third->dims),
                             " but the device has ", shape_text(pair.device.dims)));
  if (!accepts(dtypes, pair.third->dtype))
    return skipped(rule, text("the rule ", rule, " is not defined for ", dtype_name(pair.third->dtype)));
  return std::nullopt;
}

}  // namespace

std::optional<Verdict> unfit(const char* rule, const Pair& pair, Dtypes dtypes, Empty empty,
                             bool needs_third) {
  if (!pair.device.has_data()) return skipped(rule, "the data of the device was not saved");
  if (!pair.golden.has_data()) return skipped(rule, "there is no golden");
  if (pair.device.dims != pair.golden.dims)
    return failed(rule, text("the device has shape ", shape_text(pair.device.dims), " but the golden has ",
                             shape_text(pair.golden.dims)));
  if (!accepts(dtypes, pair.device.dtype))
    return skipped(rule, text("the rule ", rule, " is not defined for ", dtype_name(pair.device.dtype)));
  const bool compares_bytes = dtypes == Dtypes::any && pair.device.dtype == pair.golden.dtype;
  if (!compares_bytes &&
      (!accepts(Dtypes::real, pair.golden.dtype) || !accepts(Dtypes::real, pair.device.dtype)))
    return failed(rule, text("the device has ", dtype_name(pair.device.dtype), " but the golden has ",
                             dtype_name(pair.golden.dtype)));
  if (pair.device.numel() == 0)
    return Verdict{rule,
                   empty == Empty::skips ? Result::skip : Result::pass,
                   empty == Empty::skips ? "there are no elements" : "",
                   {}};
  return needs_third ? unfit_third(rule, pair, dtypes) : std::nullopt;
}

}  // namespace openaclnn_judge
