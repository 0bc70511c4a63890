// Bugs planted on purpose: a build with OPENACLNN_PLANTED_BUGS breaks the one thing that the environment names, so that
// `./dev check planted` can show that the tests notice. In every other build each condition below is the constant false.
#pragma once

#if defined(OPENACLNN_PLANTED_BUGS)
#include <type_traits>
#endif

namespace openaclnn {

enum class Bug {
  none,
#define OPENACLNN_BUG(name, what) name,
#include "base/planted_bugs.def"
#undef OPENACLNN_BUG
};

#if defined(OPENACLNN_PLANTED_BUGS)
// OPENACLNN_PLANTED, read while the library loads (tests/planted/planted.cc). Not for the initial value of a constant that could
// also be computed by the compiler: it would be, without the bug.
extern const Bug planted_bug;
constexpr bool planted(Bug bug) { return !std::is_constant_evaluated() && planted_bug == bug; }
#else
consteval bool planted(Bug) { return false; }
#endif

}  // namespace openaclnn
