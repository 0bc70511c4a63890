// What happens to faults in the contents of tensors: OPENACLNN_CHECK.
#pragma once

namespace openaclnn {

enum class CheckMode { report, silent, strict };

}  // namespace openaclnn
