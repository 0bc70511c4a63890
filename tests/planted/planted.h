// The condition in the patches: whether a bug is the one that OPENACLNN_PLANTED names.
// tools/planted_sources copies this file, the list and planted.cc to src/base of the sources that it
// patches.
#pragma once

#if defined(OPENACLNN_PLANTED_BUGS)
#include <type_traits>
#endif

namespace openaclnn {

enum class Bug {
  none,
#define OPENACLNN_BUG(name, what) name,
#include "planted_bugs.def"
#undef OPENACLNN_BUG
};

#if defined(OPENACLNN_PLANTED_BUGS)
// OPENACLNN_PLANTED, read while the library loads (planted.cc). The initial value of a constant must not
// depend on it: a value that the compiler computes has no bug.
extern const Bug planted_bug;
constexpr bool planted(Bug bug) { return !std::is_constant_evaluated() && planted_bug == bug; }
#else
// For programs that include headers of the library but do not link its objects.
consteval bool planted(Bug) { return false; }
#endif

}  // namespace openaclnn
