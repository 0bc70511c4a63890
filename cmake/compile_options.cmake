# Flags of every target of this project. The arithmetic rules are not negotiable: no contraction to FMA, no fast-math. So that
# -Ofast in CMAKE_CXX_FLAGS changes no bit, -fno-fast-math follows them. It precedes the flags of targets, such as those of the goldens. base/float16.h
# rejects what a compiler tells of fast-math nevertheless.
add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fno-fast-math>)
# A newer compiler warns of more, and not always rightly. Warnings are errors only with the compilers that the tests use, so that
# a newcomer with another one gets a library.
set(warnings_are_errors ${OPENACLNN_WERROR})
if((CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
   OR (CMAKE_CXX_COMPILER_ID STREQUAL Clang AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 15))
  set(warnings_are_errors OFF)
endif()
# A project that contains openaclnn may compile its own sources without exceptions, and reject warnings that this project doesn't look for.
if(NOT PROJECT_IS_TOP_LEVEL)
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-w> "$<$<COMPILE_LANGUAGE:CXX>:-fexceptions;-frtti>")
  set(CMAKE_COMPILE_WARNING_AS_ERROR OFF)
endif()
add_library(openaclnn_flags INTERFACE)
target_compile_options(openaclnn_flags INTERFACE
  -Wall -Wextra -Wshadow
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> # false alarms in std::string of g++ 12 (PR 105651)
  # g++ collects its garbage less often: a tenth of the time of sources with many templates, for up to 200 MB more memory.
  "$<$<CXX_COMPILER_ID:GNU>:SHELL:--param ggc-min-expand=300 --param ggc-min-heapsize=400000>"
  $<$<BOOL:${warnings_are_errors}>:-Werror>
  -ffp-contract=off -fno-strict-aliasing)
# By itself, g++ clears and copies structures of 33 to 8192 bytes with `rep stos` and `rep movs`, which take dozens of cycles to start.
# A call clears and copies a dozen of them. It takes a tenth less time with loops of vectors (Zen 3).
include(CheckCXXCompilerFlag)
set(CMAKE_REQUIRED_FLAGS -Werror) # clang only warns of flags that it doesn't know
foreach(function memset memcpy)
  set(strategy -m${function}-strategy=vector_loop:512:noalign,libcall:-1:noalign)
  check_cxx_compiler_flag(${strategy} OPENACLNN_HAS_${function}_STRATEGY)
  if(OPENACLNN_HAS_${function}_STRATEGY)
    target_compile_options(openaclnn_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${strategy}>)
  endif()
endforeach()
unset(CMAKE_REQUIRED_FLAGS)
# g++ links code that sets FTZ and DAZ when the library is loaded, if the last flag is -ffast-math.
target_link_options(openaclnn_flags INTERFACE $<$<LINK_LANG_AND_ID:CXX,GNU>:-fno-fast-math>)
# A shared library of clang finds the sanitizers' functions in the program only. A project that contains openaclnn may use sanitizers.
if(NOT (CMAKE_CXX_COMPILER_ID MATCHES Clang AND (OPENACLNN_SANITIZE OR NOT PROJECT_IS_TOP_LEVEL)))
  target_link_options(openaclnn_flags INTERFACE -Wl,--no-undefined)
endif()

# Sanitizers apply to everything that is linked together. In C++ a null member pointer passed on purpose by a
# test is what the library must survive, so nothing is excluded.
if(OPENACLNN_SANITIZE)
  add_compile_options(-fsanitize=${OPENACLNN_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${OPENACLNN_SANITIZE})
endif()
if(OPENACLNN_COVERAGE)
  add_link_options(-fprofile-instr-generate) # only what lies in src/ is compiled with counters
endif()

# These flags make an error of the library's own harder to exploit, and give the same bits in every folder. Sanitizers watch more closely and
# know their own stack; counters of coverage are found by the paths of sources. tools/check_hardening looks for the effects.
add_library(openaclnn_hardening INTERFACE)
if(NOT OPENACLNN_SANITIZE AND NOT OPENACLNN_COVERAGE)
  set(CMAKE_REQUIRED_FLAGS -Werror) # clang only warns of flags that are another processor's
  # Control flow: end points of indirect branches on x86-64, and signed return addresses on AArch64.
  foreach(flag -fstack-protector-strong -fstack-clash-protection -fcf-protection=full -mbranch-protection=standard)
    string(MAKE_C_IDENTIFIER "OPENACLNN_HAS${flag}" known)
    check_cxx_compiler_flag(${flag} ${known})
    if(${known})
      target_compile_options(openaclnn_hardening INTERFACE ${flag})
    endif()
  endforeach()
  unset(CMAKE_REQUIRED_FLAGS)
  target_compile_options(openaclnn_hardening INTERFACE
    -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
  if(NOT CMAKE_CXX_FLAGS MATCHES "_FORTIFY_SOURCE") # distributions have a level of their own
    target_compile_options(openaclnn_hardening INTERFACE $<$<CONFIG:Release>:-U_FORTIFY_SOURCE> $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=2>)
  endif()
endif()

# Names the Debian package when a dependency is missing.
function(openaclnn_require package debian_package)
  find_package(${package} ${ARGN} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} is missing: install the Debian package ${debian_package} (or run ./dev setup)")
  endif()
endfunction()
