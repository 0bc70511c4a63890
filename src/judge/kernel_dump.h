// Reads folders of tensors without a dump.json, as tools write them at the level of kernels:
//   {type}.{name}….{input|output}.{i}[.{FORMAT}.{DTYPE}][.npy|.bin]  MindSpore's graph mode, and converted dumps of CANN
//   {id}_{type}/before/intensor{i}.bin, after/outtensor{i}.bin       ATB
// The names of types are those of operators. Such dumps lack attributes: a file attributes.json beside the tensors gives
// them, such as {"NsaCompress": {"compressBlockSize": 32, "compressStride": 16}}.
#pragma once

#include <string>

#include "judge/dump.h"

namespace openaclnn_judge {

bool is_kernel_dump(const std::string& folder);

// Visits the calls of a folder, without those of its subfolders. Throws files::BadInput.
void read_kernel_dump(const std::string& folder, const VisitCall& visit);

bool is_atb_dump(const std::string& folder);

// Visits the call of an operation's folder.
void read_atb_dump(const std::string& folder, const VisitCall& visit);

}  // namespace openaclnn_judge
