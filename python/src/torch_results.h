// Results for PyTorch on the CPU: openaclnn/torch/results.py makes large ones, whose memory it keeps.
#pragma once

#include <cstdint>
#include <span>

#include "array.h"

namespace openaclnn::python {

// Returns a tensor with any contents from openaclnn/torch/results.py. Returns an invalid object for small
// results, and if the program has not imported openaclnn.torch; then torch.empty() makes the tensor.
nb::object torch_result(const nb::object& shape, const nb::object& dtype, aclDataType type,
                        std::span<const int64_t> dims);

// Releases the memory that openaclnn/torch/results.py keeps. Throws what it throws.
void release_torch_results();

void add_torch_results(nb::module_& module);

}  // namespace openaclnn::python
