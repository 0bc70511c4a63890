// Tests name what judges results without saying where it comes from.
#pragma once

namespace openaclnn_verify {}

namespace openaclnn_test {
using namespace openaclnn_verify;
}
