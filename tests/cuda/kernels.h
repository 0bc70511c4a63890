// Runs kernels without a device: the CPU's and the CUDA ones, called with the plans that phase 1 makes for
// each.
#pragma once

#include <string>
#include <vector>

#include "runtime/device.h"
#include "support/verify.h"
#include "verify/case.h"

namespace openaclnn_test {

// The results of one run.
struct KernelRun {
  bool was_planned = false;  // phase 1 succeeded
  std::string error;         // the error, apart from wrong results
  openaclnn::Fault fault;
  std::vector<HostTensor> tensors;
};

// Changes inputs before a run, in the same way each time.
using Spoil = std::function<void(const Case& c, std::vector<HostTensor>& tensors)>;

struct KernelOptions {
  openaclnn::PlatformKind platform = openaclnn::PlatformKind::cpu;
  openaclnn::CheckMode check = openaclnn::CheckMode::report;
  Placement placement = Placement::ends_at_guard;
  Spoil spoil = nullptr;
  const std::vector<HostTensor>* tensors = nullptr;  // copied instead of making and spoiling the case's own
};

// Runs the kernel of the platform on separate tensors between guard pages, and checks that only outputs
// were written.
KernelRun run_kernel(const Case& c, const KernelOptions& options);

// Returns an error message, or an empty text if both runs found the same faults and gave the same bits. If
// a device has its own order of additions, the case's judge checks the results.
std::string difference(const Case& c, const KernelRun& cpu, const KernelRun& cuda);

// Runs a case on the CPU and on the GPU's replacement, in both orders of threads. Returns an empty text if
// nothing differs, and then stores the replacement's first run in `cuda`.
std::string difference(const Case& c, openaclnn::CheckMode check, const Spoil& spoil = nullptr,
                       KernelRun* cuda = nullptr);

// The GPU's replacement: the emulation of the device language (kernels_on_simt.cc), or the machine that
// runs PTX (kernels_on_ptx.cc).
void set_reversed_schedule(bool reversed);
// Waits for the launched kernels. Returns an error message, or an empty text.
std::string finish_kernels();
// Part of its report about two accesses that no barrier orders; nullptr: a race only changes bits.
extern const char* const kRaceReport;

}  // namespace openaclnn_test
