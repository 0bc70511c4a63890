// The fixed list of environment variables. They are read once, at first use, and ignored in set-user-id
// processes. An empty value counts as not set.
#pragma once

#include <string>
#include <vector>

#include "base/check_mode.h"

namespace openaclnn {

enum class IsaCap { none, scalar, avx2, avx512, neon };
enum class RowStreams { automatic, one, several };
enum class LogLevel { error, warn, info, debug };
enum class DeviceChoice { automatic, cpu, cuda };

inline constexpr char kDefaultSocName[] = "Ascend910B1";

struct Environment {
  DeviceChoice device = DeviceChoice::automatic;   // OPENACLNN_DEVICE auto|cpu|cuda
  CheckMode check = CheckMode::report;             // OPENACLNN_CHECK report|silent|strict
  bool guard_allocator = false;                    // OPENACLNN_ALLOCATOR pool|guard
  bool vendor_limits = false;                      // OPENACLNN_LIMITS none|vendor
  bool blocking = false;                           // OPENACLNN_BLOCKING 0|1
  int num_threads = 0;                             // OPENACLNN_NUM_THREADS n >= 1; 0: not set
  IsaCap isa = IsaCap::none;                       // OPENACLNN_ISA scalar|avx2|avx512|neon
  RowStreams row_streams = RowStreams::automatic;  // OPENACLNN_ROW_STREAMS auto|one|several
  int cpu_devices = 1;                             // OPENACLNN_CPU_DEVICES 1..64
  std::string soc_name = kDefaultSocName;          // OPENACLNN_SOC_NAME
  std::string cuda_plugin;                         // OPENACLNN_CUDA_PLUGIN absolute path
  std::string trace;                               // OPENACLNN_TRACE file
  std::string dump;                                // OPENACLNN_DUMP folder, or folder:operator,…
  LogLevel log = LogLevel::warn;                   // OPENACLNN_LOG error|warn|info|debug
};

// The settings of the process. Unknown values and misspelt names are reported once on stderr. Unknown values
// are replaced by the default.
const Environment& environment();

// One variable of the list, for functions that display the settings.
struct Setting {
  const char* name;
  std::string accepted;  // "report|silent|strict", or the kind of text
  std::string given;     // the value in the environment; empty: not set
  std::string in_force;  // the value in use: the default if `given` is not understood
  bool is_understood = true;
};
const std::vector<Setting>& environment_settings();

// Writes one line "openaclnn: <message>" to stderr if `level` is enabled.
void log_message(LogLevel level, const std::string& message);

}  // namespace openaclnn
