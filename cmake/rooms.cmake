# The rooms of operators, and sources that are made for each of them.

# openaclnn_rooms(out): the folders of all rooms below src/ops, `embedding` or, in a family's folder, `nsa/compress`. A room has an op.h.
function(openaclnn_rooms out)
  set(ops ${PROJECT_SOURCE_DIR}/src/ops)
  file(GLOB rooms CONFIGURE_DEPENDS RELATIVE ${ops} ${ops}/*/op.h ${ops}/*/*/op.h)
  list(TRANSFORM rooms REPLACE "/op.h$" "")
  set(${out} ${rooms} PARENT_SCOPE)
endfunction()

# openaclnn_room_files(pattern out): the files of all rooms that match the pattern, which is relative to a room.
function(openaclnn_room_files pattern out)
  openaclnn_rooms(rooms)
  list(TRANSFORM rooms PREPEND ${PROJECT_SOURCE_DIR}/src/ops/)
  list(TRANSFORM rooms APPEND /${pattern})
  file(GLOB files CONFIGURE_DEPENDS ${rooms})
  set(${out} ${files} PARENT_SCOPE)
endfunction()

# The library is under test, not what judges it: that is compiled quickly, and only the library is watched for undefined behaviour.
set(OPENACLNN_TEST_FLAGS $<$<CONFIG:Release>:-O1>)
if(OPENACLNN_SANITIZE MATCHES fuzzer)
  list(APPEND OPENACLNN_TEST_FLAGS -O2 -fno-sanitize=all)  # and only the library guides the fuzzer
elseif(OPENACLNN_SANITIZE MATCHES undefined)
  list(APPEND OPENACLNN_TEST_FLAGS -fno-sanitize=undefined)
endif()

# openaclnn_room_sources(what template_folder out): one source for each room that has the header verify/<what>.h or tests/<what>.h, made
# from room_<what>.cc.in. `out` receives their names.
function(openaclnn_room_sources what template_folder out)
  openaclnn_rooms(rooms)
  set(made "")
  foreach(folder IN LISTS rooms)
    file(GLOB header ${PROJECT_SOURCE_DIR}/src/ops/${folder}/verify/${what}.h ${PROJECT_SOURCE_DIR}/src/ops/${folder}/tests/${what}.h)
    if(header)
      string(REPLACE / _ room ${folder})
      configure_file(${template_folder}/room_${what}.cc.in ${PROJECT_BINARY_DIR}/rooms/${room}_${what}.cc @ONLY)
      list(APPEND made ${PROJECT_BINARY_DIR}/rooms/${room}_${what}.cc)
    endif()
  endforeach()
  set(${out} ${made} PARENT_SCOPE)
endfunction()

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
# the variable, which lists the sources, becomes the source of a program that says so and ends with code 77. The program keeps its name, so what else is
# said about it in CMake stays valid. ctest counts its tests as skipped.
function(openaclnn_leave_out_without_operators name variable)
  openaclnn_missing_headers(missing ${${variable}})
  if(missing)
    list(JOIN missing ", " missing)
    message(STATUS "${name} is left out: it includes ${missing}, of deleted operators")
    cmake_language(DEFER CALL openaclnn_skip_left_out_tests)
    set(OPENACLNN_LEFT_OUT_REASON "${name} is left out: it includes ${missing}")
    configure_file(${PROJECT_SOURCE_DIR}/cmake/left_out.cc.in ${PROJECT_BINARY_DIR}/left_out/${name}.cc @ONLY)
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
