# Sources that are made for every operator's room, from a header that the rooms have.

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
  set(ops ${PROJECT_SOURCE_DIR}/src/ops)
  file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${ops} ${ops}/*/verify/${what}.h ${ops}/*/tests/${what}.h)
  set(made "")
  foreach(header IN LISTS headers)
    string(REGEX MATCH "^[^/]+" room ${header})
    configure_file(${template_folder}/room_${what}.cc.in ${PROJECT_BINARY_DIR}/rooms/${room}_${what}.cc @ONLY)
    list(APPEND made ${PROJECT_BINARY_DIR}/rooms/${room}_${what}.cc)
  endforeach()
  set(${out} ${made} PARENT_SCOPE)
endfunction()
