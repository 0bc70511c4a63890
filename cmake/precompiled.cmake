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

# openaclnn_compile_together(target sources_at_once [alone]): sources whose headers and templates cost more than their own code become one
# compilation, so many at a time, except those whose paths match `alone`. It halves the time of a room's tests. CLI11 has objects at namespace scope,
# for which every source that includes it compiles half of that library. With g++ only, for the same reason.
#
# CMake's own UNITY_BUILD names sources by absolute paths, so that a compiler cache would never know them again in another clone. A source with
# COMPILE_OPTIONS or COMPILE_DEFINITIONS of its own stays alone; they must be set before the call.
function(openaclnn_compile_together target sources_at_once)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU OR CMAKE_DISABLE_PRECOMPILE_HEADERS)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(alone)
  set(together)
  set(batch 0)
  foreach(source IN LISTS sources)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    if(options OR definitions OR NOT source MATCHES "^[^$]+\\.cc$" OR (ARGC GREATER 2 AND source MATCHES "${ARGV2}"))
      list(APPEND alone ${source})
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    list(APPEND together "#include \"${source}\"\n")
    list(LENGTH together count)
    if(count EQUAL sources_at_once)
      openaclnn_add_batch()
    endif()
  endforeach()
  if(together)
    openaclnn_add_batch()
  endif()
  set_target_properties(${target} PROPERTIES SOURCES "${alone}")
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
endfunction()

# Moves `together`, lines of a source, to a file of the list `alone`.
macro(openaclnn_add_batch)
  list(JOIN together "" text)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${target}_together_${batch}.cc)
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
  list(APPEND alone ${file})
  math(EXPR batch "${batch} + 1")
  set(together)
endmacro()
