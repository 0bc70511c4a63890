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
# Watching the scopes of local variables takes g++ a third of the time of a test, and a fifth of that of an emulated kernel.
set(OPENACLNN_WATCH_NO_SCOPES "")
if(OPENACLNN_SANITIZE MATCHES address AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set(OPENACLNN_WATCH_NO_SCOPES -fno-sanitize-address-use-after-scope)
endif()
list(APPEND OPENACLNN_TEST_FLAGS ${OPENACLNN_WATCH_NO_SCOPES})

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
