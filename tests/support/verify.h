// Names the judges of src/verify for tests, without their location.
#pragma once

namespace openaclnn_verify {}

namespace openaclnn_test {
using namespace openaclnn_verify;
}
