// Powers of two of rows of floats: the weights of attention. PyTorch's exp2 and sum take twice as long.
#pragma once

#include <cstdint>

namespace openaclnn::python {

// Replaces `rows` rows of `columns` adjacent floats by their powers of two. If `sums` isn't nullptr, it gets the sum of each row. The bits
// don't depend on the processor. Powers below 2**-125 become 0. Others have a relative error of at most 2**-23.
using Exp2Rows = void(float* values, int64_t rows, int64_t columns, float* sums);

namespace isa_baseline {
Exp2Rows exp2_rows;
}
namespace isa_avx2 {
Exp2Rows exp2_rows;
}
namespace isa_avx512 {
Exp2Rows exp2_rows;
}

}  // namespace openaclnn::python
