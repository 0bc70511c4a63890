# Compiles shared headers once for many sources of a program.

# Headers that dozens of sources of a program share are compiled once. With g++ only: clang and clang-tidy read every source as it stands,
# so a source that relies on a header it doesn't include is noticed there (./dev check compilers). ccache knows such sources again only
# with CCACHE_SLOPPINESS=pch_defines,time_macros, which ./dev sets.
function(openaclnn_precompile target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_precompile_headers(${target} ${ARGN})
    # g++ 12 forgets which functions of a precompiled header are the system's, and warns of what it thinks they do.
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
endfunction()

# Sources whose headers and templates cost more than their own code: several become one compilation. It halves the time of a room's tests. CLI11
# has objects at namespace scope, for which every source that includes it compiles half of that library. With g++ only, for the same reason.
function(openaclnn_compile_together target sources_at_once)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${sources_at_once})
  endif()
endfunction()
