// Stores the system parameters.
#include "runtime/options.h"

#include <array>
#include <atomic>

#include "acl/acl_rt.h"
#include "base/text.h"
#include "runtime/context.h"

namespace openaclnn {

namespace {

constexpr int kOptions = 4;         // aclSysParamOpt: 0 to 3
constexpr int kContextOptions = 3;  // ACL_OPT_ENABLE_KERNEL_EARLY_START exists only per process

std::array<std::atomic<int64_t>, kOptions>& process_params() {
  static std::array<std::atomic<int64_t>, kOptions> params = {};
  return params;
}

Status require_option(int option, int count) {
  if (option >= 0 && option < count) return {};
  return {ACL_ERROR_INVALID_PARAM, text("opt is ", option, "; it must be in [0, ", count, ")")};
}

}  // namespace

Status set_system_param(int option, int64_t value) {
  OPENACLNN_TRY(require_option(option, kOptions));
  process_params()[static_cast<size_t>(option)].store(value);
  return {};
}

Result<int64_t> system_param(int option) {
  OPENACLNN_TRY(require_option(option, kOptions));
  return process_params()[static_cast<size_t>(option)].load();
}

Status set_context_param(int option, int64_t value) {
  OPENACLNN_TRY(require_option(option, kContextOptions));
  OPENACLNN_TRY_ASSIGN(current, current_context());
  ContextTable::instance().with(
      current.handle, [&](std::shared_ptr<Context>& context) { context->system_params[option] = value; });
  return {};
}

Result<int64_t> context_param(int option) {
  OPENACLNN_TRY(require_option(option, kContextOptions));
  OPENACLNN_TRY_ASSIGN(current, current_context());
  Result<int64_t> value =
      Status(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET,
             text("opt ", option, " was never set for the current context; set it first"));
  ContextTable::instance().with(current.handle, [&](std::shared_ptr<Context>& context) {
    const auto found = context->system_params.find(option);
    if (found != context->system_params.end()) value = found->second;
  });
  return value;
}

}  // namespace openaclnn
