# The cases of every room, with what judges them: for tests, and for `openaclnn check`. Nothing of it needs a test framework.

# The library is under test, not the tests: they are compiled quickly, and only the library is watched for undefined behaviour.
set(OPENACLNN_TEST_FLAGS $<$<CONFIG:Release>:-O1>)
if(OPENACLNN_SANITIZE MATCHES fuzzer)
  list(APPEND OPENACLNN_TEST_FLAGS -O2 -fno-sanitize=all)  # and only the library guides the fuzzer
elseif(OPENACLNN_SANITIZE MATCHES undefined)
  list(APPEND OPENACLNN_TEST_FLAGS -fno-sanitize=undefined)
endif()

add_library(openaclnn_case_support STATIC)
foreach(part case device_twin guarded_buffer host_tensor judge layout number runner)
  target_sources(openaclnn_case_support PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/${part}.cc)
endforeach()
target_compile_options(openaclnn_case_support PRIVATE ${OPENACLNN_TEST_FLAGS})
target_include_directories(openaclnn_case_support PUBLIC ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(openaclnn_case_support PRIVATE openaclnn_flags)
# Programs name libopenaclnn.so before this library, which alone may need it; some linkers would have dropped it by then.
target_link_options(openaclnn_case_support INTERFACE -Wl,--no-as-needed)

# openaclnn_room_sources(what template_folder out): one source for each room that has the header <what>.h, made from
# room_<what>.cc.in. `out` receives their names.
function(openaclnn_room_sources what template_folder out)
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/ops/*/${what}.h)
  set(made "")
  foreach(header IN LISTS headers)
    get_filename_component(folder ${header} DIRECTORY)
    get_filename_component(room ${folder} NAME)
    configure_file(${template_folder}/room_${what}.cc.in ${PROJECT_BINARY_DIR}/rooms/${room}_${what}.cc @ONLY)
    list(APPEND made ${PROJECT_BINARY_DIR}/rooms/${room}_${what}.cc)
  endforeach()
  set(${out} ${made} PARENT_SCOPE)
endfunction()

# The same as a library, for several programs; `support` is what the headers need.
function(openaclnn_room_library name what support)
  openaclnn_room_sources(${what} ${PROJECT_SOURCE_DIR}/tests/ops sources)
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(${name} PRIVATE ${OPENACLNN_TEST_FLAGS})
  target_link_libraries(${name} PRIVATE openaclnn_flags PUBLIC ${support})
endfunction()

openaclnn_room_library(openaclnn_room_cases cases openaclnn_case_support)
