# Flags of every target of this project. The arithmetic rules are not negotiable: no contraction to FMA, no fast-math.
add_library(openaclnn_flags INTERFACE)
target_compile_options(openaclnn_flags INTERFACE
  -Wall -Wextra -Wshadow
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> # false alarms in std::string of g++ 12 (PR 105651)
  $<$<BOOL:${OPENACLNN_WERROR}>:-Werror>
  -ffp-contract=off -fno-strict-aliasing)
target_link_options(openaclnn_flags INTERFACE -Wl,--no-undefined)

# Sanitizers apply to everything that is linked together. In C++ a null member pointer passed on purpose by a
# test is what the library must survive, so nothing is excluded.
if(OPENACLNN_SANITIZE)
  add_compile_options(-fsanitize=${OPENACLNN_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${OPENACLNN_SANITIZE})
endif()
if(OPENACLNN_COVERAGE)
  add_link_options(-fprofile-instr-generate) # only what lies in src/ is compiled with counters
endif()

# Names the Debian package when a dependency is missing.
function(openaclnn_require package debian_package)
  find_package(${package} ${ARGN} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} is missing: install the Debian package ${debian_package} (or run ./dev setup)")
  endif()
endfunction()
