// Implements acl* and aclrt* for system parameters, the program's log, and elements on the host.
#include <array>
#include <bit>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <string>

#include "acl/acl.h"
#include "api/require.h"
#include "base/dtype.h"
#include "base/env.h"
#include "base/float16.h"
#include "base/printable.h"
#include "base/standard_error.h"
#include "base/text.h"
#include "runtime/guard.h"
#include "runtime/options.h"

using namespace openaclnn;

namespace {

struct Severity {
  LogLevel level;
  const char* name;
};

Severity severity_of(aclLogLevel level) {
  switch (level) {
    case ACL_DEBUG: return {LogLevel::debug, "DEBUG"};
    case ACL_INFO: return {LogLevel::info, "INFO"};
    case ACL_WARNING: return {LogLevel::warn, "WARNING"};
    default: return {LogLevel::error, "ERROR"};
  }
}

const char* or_unknown(const char* name) { return name != nullptr ? name : "unknown"; }

}  // namespace

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return runtime_guard(__func__, [&] { return set_system_param(opt, value); });
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("value", value));
    return deliver(system_param(opt), value);
  });
}

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return runtime_guard(__func__, [&] { return set_context_param(opt, value); });
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return runtime_guard(__func__, [&]() -> Status {
    OPENACLNN_TRY(require_pointer("value", value));
    return deliver(context_param(opt), value);
  });
}

void aclAppLog(aclLogLevel logLevel, const char* func, const char* file, uint32_t line, const char* fmt,
               ...) {
  std::va_list arguments;
  va_start(arguments, fmt);
  (void)runtime_guard(__func__, [&]() -> Status {
    const Severity severity = severity_of(logLevel);
    if (severity.level > environment().log) return {};
    std::array<char, 1024> message = {};
    if (fmt != nullptr) (void)std::vsnprintf(message.data(), message.size(), fmt, arguments);
    const std::string place = text(or_unknown(file), ":", line, " ", or_unknown(func));
    write_to_stderr(text("[", severity.name, "] ", printable(place + ": " + message.data()), "\n"));
    return {};
  });
  va_end(arguments);
}

size_t aclDataTypeSize(aclDataType dataType) { return dtype_size(dataType); }

// These two functions match the NPU host library, which has neither infinities nor NaN: results saturate, and
// exponent 31 is an ordinary exponent. Kernels never use them.
aclFloat16 aclFloatToFloat16(float value) {
  const bool negative = (std::bit_cast<uint32_t>(value) >> 31) != 0;
  const uint16_t magnitude = narrow_f16(value).bits & 0x7FFFu;
  constexpr uint16_t kLargest = 0x7BFF;  // 65,504
  return static_cast<aclFloat16>((negative ? 0x8000u : 0u) | (magnitude > kLargest ? kLargest : magnitude));
}

float aclFloat16ToFloat(aclFloat16 value) {
  const uint32_t magnitude = value & 0x7FFFu;
  if (magnitude < 0x7C00u) return widen(Float16{value});
  const float scaled = 65536.0f * (1.0f + static_cast<float>(magnitude & 0x3FFu) / 1024.0f);
  return (value & 0x8000u) != 0 ? -scaled : scaled;
}
