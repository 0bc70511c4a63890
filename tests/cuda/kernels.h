// Kernels without a device: the CPU's and the CUDA ones, called with the plans that phase 1 makes for each.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/device.h"
#include "support/verify.h"
#include "verify/case.h"

namespace openaclnn_test {

// What one run leaves behind.
struct KernelRun {
  bool was_planned = false;  // phase 1 succeeded
  std::string error;         // what went wrong apart from results
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
};

// Runs the kernel of the platform on tensors of its own, between guard pages, and checks that nothing but outputs was written.
KernelRun run_kernel(const Case& c, const KernelOptions& options);

// Empty when both runs found the same and gave the same bits; else a sentence. Results that a device adds in an order of its own are
// left to the case's judge.
std::string difference(const Case& c, const KernelRun& cpu, const KernelRun& cuda);

// Runs a case on the CPU and on what stands for a GPU, in both orders of threads; empty when nothing differs.
std::string difference(const Case& c, openaclnn::CheckMode check, const Spoil& spoil = nullptr);

// What stands for a GPU: the emulation of the device language (kernels_on_simt.cc), or the machine that runs PTX (kernels_on_ptx.cc).
void set_reversed_schedule(bool reversed);
// Waits for the kernels that were launched; empty, or what went wrong.
std::string finish_kernels();
extern const char* const
    kRaceReport;  // a part of what it says about two accesses that no barrier orders; nullptr: it gives other bits

}  // namespace openaclnn_test
