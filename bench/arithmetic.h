// Arithmetic kernels: the reference's traffic with the conversions, multiplications and additions that no
// kernel of the operator can leave out. They know no windows, groups or special values. So their speed
// limits the operator where arithmetic, not memory, is the limit.
//
// Compiled once per instruction set, like the kernels that they are compared with. Arrays consist of whole
// 64-byte lines.
#pragma once

#include <cstdint>
#include <span>

#include "acl/acl_base.h"

namespace openaclnn_bench {

struct ArithmeticKernels {
  // Sums of rows: widens all elements and adds each to a register.
  float (*sum)(aclDataType dtype, const void* from, int64_t bytes);
  // Token compression: multiplies each element by the weights of so many windows, and adds the products to
  // registers.
  float (*compress)(aclDataType dtype, int windows, const void* from, int64_t bytes);
  // Its gradient. The rows of so many windows are in L1. Their elements times a weight are summed, rounded and
  // written with streaming stores. Their elements times those that are read are added to registers.
  float (*compress_grad)(aclDataType dtype, int windows, const void* from, void* to, int64_t bytes);
  // ApplyFusedEmaAdam: its formula, with a multiplication in place of the division and no root. The states are
  // var, m, v and s. They keep their values.
  void (*ema_adam)(aclDataType dtype, const void* grad, std::span<void* const, 4> states, int64_t bytes);
};
inline constexpr int kMostArithmeticWindows = 4;

// Returns the set that OPENACLNN_ISA names, else the machine's best one, as in the library.
const ArithmeticKernels& arithmetic_kernels();

}  // namespace openaclnn_bench
