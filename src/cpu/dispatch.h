// Run-time dispatch: selects among copies of a kernel that are compiled for different instruction sets.
#pragma once

#include "base/instruction_sets.h"

namespace openaclnn::cpu {

using openaclnn::best_isa;
using openaclnn::built_isas;
using openaclnn::Isa;
using openaclnn::isa_name;

// The best instruction set of this process, limited by OPENACLNN_ISA.
Isa active_isa();

// Whether kernels with AVX-512 read rows as several streams of memory at once (cpu/add_rows.h): on processors
// of Intel, unless OPENACLNN_ROW_STREAMS decides. Results don't depend on it.
bool reads_several_streams();

}  // namespace openaclnn::cpu
