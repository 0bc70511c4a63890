# Programs that include a header of a deleted operator are left out of the build: tools/remove_op.

# Headers of operators begin with one of these: they are deleted with their operator.
set(OPENACLNN_OPERATOR_HEADERS "^(aclnnop|openaclnn|ops)/.*\\.h$")

# openaclnn_missing_headers(out file…): the headers of deleted operators that these files include, directly or through other headers.
# A header of tests/support counts with its source, which programs that include it are linked with.
function(openaclnn_missing_headers out)
  set(all "")
  foreach(file IN LISTS ARGN)
    if(NOT IS_ABSOLUTE ${file})
      set(file ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    endif()
    cmake_path(NORMAL_PATH file)
    get_property(known GLOBAL PROPERTY OPENACLNN_MISSING_HEADERS_OF_${file} SET)
    if(NOT known)
      openaclnn_read_missing_headers(${file})
    endif()
    get_property(missing GLOBAL PROPERTY OPENACLNN_MISSING_HEADERS_OF_${file})
    list(APPEND all ${missing})
  endforeach()
  list(REMOVE_DUPLICATES all)
  set(${out} ${all} PARENT_SCOPE)
endfunction()

# Reads one file for openaclnn_missing_headers, which asks once for each.
function(openaclnn_read_missing_headers file)
  set(missing "")
  set_property(GLOBAL PROPERTY OPENACLNN_MISSING_HEADERS_OF_${file} "") # ends cycles of includes
  set(lines "")
  if(EXISTS ${file})
    file(STRINGS ${file} lines REGEX "^#include [\"<][a-z_./0-9]+[\">]")
  endif()
  cmake_path(GET file PARENT_PATH folder)
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^#include [\"<]([^\">]+)[\">].*" "\\1" header "${line}")
    set(found "")
    foreach(base IN ITEMS ${folder} ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src)
      if(EXISTS ${base}/${header})
        set(found ${base}/${header})
        break()
      endif()
    endforeach()
    if(found)
      string(REGEX REPLACE "(/tests/support/.*)\\.h$" "\\1.cc" source "${found}")
      if(NOT EXISTS ${source})
        set(source ${found})
      endif()
      openaclnn_missing_headers(more ${found} ${source})
      list(APPEND missing ${more})
    elseif(header MATCHES "${OPENACLNN_OPERATOR_HEADERS}" AND NOT EXISTS ${PROJECT_SOURCE_DIR}/include/${header})
      list(APPEND missing ${header})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES missing)
  set_property(GLOBAL PROPERTY OPENACLNN_MISSING_HEADERS_OF_${file} "${missing}")
endfunction()

# openaclnn_leave_out_without_operators(name variable): where a source of the program `name` includes a header of a deleted operator,
# the variable, which lists the sources, becomes the source of a program that says so and ends with code 77. The target stays, so all
# commands about it stay valid. ctest counts its tests as skipped.
function(openaclnn_leave_out_without_operators name variable)
  openaclnn_missing_headers(missing ${${variable}})
  if(missing)
    list(JOIN missing ", " missing)
    message(STATUS "${name} is left out: it includes ${missing}, of deleted operators")
    cmake_language(DEFER CALL openaclnn_skip_left_out_tests)
    set(OPENACLNN_LEFT_OUT_REASON "${name} is left out: it includes ${missing}")
    configure_file(${PROJECT_SOURCE_DIR}/cmake/left_out.cc.in ${PROJECT_BINARY_DIR}/left_out/${name}.cc @ONLY)
    foreach(file IN LISTS ${variable}) # an edit may take the include away
      cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE) # Ninja wants one name for a file
      if(EXISTS ${file})
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
      endif()
    endforeach()
    set(${variable} ${PROJECT_BINARY_DIR}/left_out/${name}.cc PARENT_SCOPE)
  endif()
endfunction()

# Makes ctest count tests of this folder that end with code 77 as skipped.
function(openaclnn_skip_left_out_tests)
  get_property(tests DIRECTORY PROPERTY TESTS)
  if(tests)
    set_tests_properties(${tests} PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endfunction()

# openaclnn_program(name [EXCLUDE_FROM_ALL] sources…): a program that is left out where it calls a deleted operator.
function(openaclnn_program name)
  cmake_parse_arguments(PROGRAM "EXCLUDE_FROM_ALL" "" "" ${ARGN})
  set(sources ${PROGRAM_UNPARSED_ARGUMENTS})
  openaclnn_leave_out_without_operators(${name} sources)
  add_executable(${name} ${sources})
  set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ${PROGRAM_EXCLUDE_FROM_ALL})
endfunction()
