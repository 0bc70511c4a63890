// Implements openaclnn* except for operators.
#include "openaclnn/openaclnn.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "cpu/dispatch.h"
#include "cpu/machine_limits.h"
#include "openaclnn/status.h"
#include "ops/registry.h"
#include "runtime/device_failure.h"
#include "runtime/guard.h"

using namespace openaclnn;

namespace {

void describe_instruction_sets(Json& json) {
  json.key("instructionSets").open('[');
  for (const cpu::Isa isa : cpu::built_isas()) {
    json.open('{').field("name", cpu::isa_name(isa)).field("available", isa <= cpu::best_isa()).close('}');
  }
  json.close(']');
}

const char* platform_name(const Platform& found) {
  if (found.devices.empty()) return "none";
  return found.kind == PlatformKind::cuda ? "cuda" : "cpu";
}

// A device that no longer returns its name contributes the reason instead.
void describe_devices(Json& json, const Platform& found) {
  json.key("deviceNames").open('[');
  for (const Device* const device : found.devices) {
    try {
      json.value(device->name());
    } catch (const DeviceFailure& failure) {
      json.value(failure.what());
    }
  }
  json.close(']');
}

void describe_environment(Json& json) {
  json.key("environment").open('[');
  for (const Setting& setting : environment_settings()) {
    json.open('{').field("name", setting.name).field("accepted", setting.accepted);
    json.field("given", setting.given).field("inForce", setting.in_force);
    json.field("understood", setting.is_understood).close('}');
  }
  json.close(']');
}

// Values that cannot be read become null.
void describe_limits(Json& json) {
  json.key("memory");
  if (const std::optional<MemoryInfo> memory = cpu::machine_memory()) {
    json.open('{').field("free", memory->free_bytes).field("total", memory->total_bytes).close('}');
  } else {
    json.null();
  }
  json.key("cpuQuota");
  if (const std::optional<double> quota = cpu::cpu_quota()) {
    json.value(std::isfinite(*quota) ? *quota : 0);
  } else {
    json.null();
  }
}

std::string describe_library() {
  const Platform& found = platform();
  Json json;
  json.open('{').field("version", OPENACLNN_VERSION);
  json.field("platform", platform_name(found)).field("devices", found.devices.size());
  describe_devices(json, found);
  json.field("whyNone", found.why_none).field("whyNoCuda", found.why_no_cuda).field("threads", found.threads);
  json.field("instructionSet", found.instruction_set);
  describe_instruction_sets(json);
  describe_limits(json);
  describe_environment(json);
  json.key("operators").open('[');
  for (const Operator* const op : operators()) json.value(op->name);
  json.close(']').close('}');
  return json.text();
}

}  // namespace

aclnnStatus openaclnnDescribe(char* text, uint64_t capacity, uint64_t* length) {
  return guard(__func__, kMetaWall, [&]() -> Status {
    if (text == nullptr && capacity > 0) {
      return {ACLNN_ERR_PARAM_NULLPTR, "text is NULL; pass the address of `capacity` bytes, or capacity 0"};
    }
    const std::string whole = describe_library();
    if (capacity > 0) {
      const size_t kept = std::min<uint64_t>(whole.size(), capacity - 1);
      std::memcpy(text, whole.data(), kept);
      text[kept] = '\0';
    }
    if (length != nullptr) *length = whole.size();
    return {};
  });
}

aclnnStatus openaclnnReportMissing(const char* function) {
  const char* const name = function != nullptr ? function : "unknown function";
  const bool is_operator = std::string_view(name).starts_with("aclnn");
  return guard(name, kMetaWall, [is_operator]() -> Status {
    return {ACLNN_ERR_INNER_FIND_KERNEL_ERROR,
            is_operator ? "openaclnn does not have this operator; `openaclnn ops` lists those that it has"
                        : "openaclnn does not have this function, only its name; see docs/porting.md"};
  });
}
