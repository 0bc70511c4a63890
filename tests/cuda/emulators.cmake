# Compiles kernels for the two machines that replace a GPU in tests: simt/ by the C++ compiler, ptx/ by nvcc.

# The emulation's headers, which replace CUDA's.
add_library(openaclnn_simt_headers INTERFACE)
target_include_directories(openaclnn_simt_headers BEFORE INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/simt ${PROJECT_SOURCE_DIR}/tests)

# openaclnn_simt_sources(): compile options of the emulation's own sources, in the folder that calls this. ThreadSanitizer watches the kernels, in the
# order that the emulation reports, but not the emulation.
function(openaclnn_simt_sources)
  if(OPENACLNN_SANITIZE MATCHES thread)
    set(simt ${PROJECT_SOURCE_DIR}/tests/cuda/simt)
    set_source_files_properties(${simt}/device_language.cc ${simt}/fiber.cc PROPERTIES
      COMPILE_OPTIONS -fno-sanitize=thread COMPILE_DEFINITIONS OPENACLNN_SIMT_RACES SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# openaclnn_simt_objects(name sources…): an object library that the C++ compiler compiles against the emulation of the device language. The folder
# that calls this treats .cu files as C++.
function(openaclnn_simt_objects name)
  set(kernels ${ARGN})
  list(FILTER kernels INCLUDE REGEX "\\.cu$")
  set_source_files_properties(${kernels} PROPERTIES LANGUAGE CXX)
  add_library(${name} OBJECT ${ARGN})
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  # With -O3, the largest kernel takes g++ two thirds more time, and cuda_kernels_test as long as with -O2: most of it is the emulation.
  target_compile_options(${name} PRIVATE -Wno-unknown-pragmas ${OPENACLNN_WATCH_NO_SCOPES} $<$<CONFIG:Release>:-O2>)
  openaclnn_simt_sources()
  target_link_libraries(${name} PRIVATE openaclnn_flags openaclnn_simt_headers openaclnn_includes)
endfunction()

# openaclnn_ptx_objects(name sources…): an object library that nvcc compiles as for the plugin, but with uncompressed PTX that names the line of each
# instruction. The folder that calls this must not treat .cu files as C++.
function(openaclnn_ptx_objects name)
  add_library(${name} OBJECT ${ARGN})
  set_target_properties(${name} PROPERTIES CUDA_ARCHITECTURES 90-virtual CUDA_STANDARD 20 POSITION_INDEPENDENT_CODE ON
    CUDA_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${name} PRIVATE ${OPENACLNN_CUDA_OPTIONS} $<$<COMPILE_LANGUAGE:CUDA>:--no-compress -lineinfo>)
  target_link_libraries(${name} PRIVATE openaclnn_includes)
endfunction()

# openaclnn_plant_kernel_bug(bug folder file…): copies files of src/ into a folder of the build and applies bugs/<bug>.patch to the copies. If the
# folder comes first, it replaces src/: an include of one of the files finds its copy.
function(openaclnn_plant_kernel_bug bug folder)
  find_program(OPENACLNN_PATCH patch)
  if(NOT OPENACLNN_PATCH)
    message(FATAL_ERROR "patch is missing: install the Debian package patch (or run ./dev setup)")
  endif()
  set(bugs ${PROJECT_SOURCE_DIR}/tests/cuda/bugs)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/src/ OUTPUT_VARIABLE originals)
  list(TRANSFORM ARGN PREPEND ${folder}/src/ OUTPUT_VARIABLE copies)
  list(TRANSFORM ARGN PREPEND src/ OUTPUT_VARIABLE files)
  add_custom_command(OUTPUT ${copies}
    COMMAND sh ${bugs}/plant.sh ${PROJECT_SOURCE_DIR} ${bugs}/${bug}.patch ${folder} ${files}
    DEPENDS ${originals} ${bugs}/${bug}.patch ${bugs}/plant.sh COMMENT "Planting ${bug} in a copy of the sources" VERBATIM)
endfunction()
