// Reads which bug this process has: a source of the library that tools/planted_sources adds to its copy.
#include "planted.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace openaclnn {

namespace {

struct NamedBug {
  std::string_view name;
  Bug bug;
};

constexpr NamedBug kBugs[] = {
#define OPENACLNN_BUG(name, what) {#name, Bug::name},
#include "planted_bugs.def"
#undef OPENACLNN_BUG
};

// A misspelt name must not look like a bug that no test notices.
Bug chosen() {
  const char* const name = std::getenv("OPENACLNN_PLANTED");
  if (name == nullptr || *name == '\0') return Bug::none;
  for (const NamedBug& candidate : kBugs) {
    if (candidate.name == name) return candidate.bug;
  }
  std::fprintf(
      stderr, "openaclnn: OPENACLNN_PLANTED is '%s'; tests/planted/planted_bugs.def has no such bug\n", name);
  std::_Exit(2);
}

}  // namespace

// Statics of the library that are initialised before this one see no bug; they compute nothing.
extern const Bug planted_bug = chosen();

}  // namespace openaclnn
