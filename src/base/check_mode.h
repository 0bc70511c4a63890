// The modes of OPENACLNN_CHECK: how faults in tensor data are handled.
#pragma once

namespace openaclnn {

enum class CheckMode { report, silent, strict };

}  // namespace openaclnn
