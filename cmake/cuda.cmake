# The CUDA plugin: the real one, built by nvcc where it is, and the one of the tests, which runs the same sources without a GPU.
set(OPENACLNN_CUDA_FOUND OFF)
if(NOT OPENACLNN_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20) # CMake before 3.26 does not know that nvcc has it
    endif()
  endif()
  if(CMAKE_CUDA_COMPILER AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.4)
    set(OPENACLNN_CUDA_FOUND ON)
  elseif(OPENACLNN_CUDA STREQUAL "ON")
    message(FATAL_ERROR "OPENACLNN_CUDA is ON, but nvcc of CUDA 12.4 or later was not found; name it by CMAKE_CUDA_COMPILER")
  endif()
endif()
if(OPENACLNN_CUDA_FOUND)
  message(STATUS "CUDA plugin: built by nvcc ${CMAKE_CUDA_COMPILER_VERSION}")
else()
  message(STATUS "CUDA plugin: not built (OPENACLNN_CUDA is ${OPENACLNN_CUDA}; nvcc of CUDA 12.4 or later is needed)")
endif()

# What crosses the border between library and plugin must come from one build: its name holds a hash of what is shared.
file(GLOB shared CONFIGURE_DEPENDS src/base/*.h src/runtime/device.h src/runtime/fault.h src/runtime/tensor_lists.h
  src/cuda/plugin.h src/cuda/launch.h src/ops/*.h src/ops/*/op.h src/ops/*/plan.h)
set(hashes "")
foreach(header IN LISTS shared)
  file(MD5 ${header} hash)
  string(APPEND hashes ${hash})
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${shared})
string(MD5 hash "${hashes}")
string(SUBSTRING ${hash} 0 12 hash)
set(OPENACLNN_CUDA_BUILD "${PROJECT_VERSION}-${hash}")

file(GLOB OPENACLNN_CUDA_KERNELS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/ops/*/cuda.cu)

# openaclnn_add_plugin(name): a plugin of the sources that both have; the caller adds kernels and the CUDA runtime.
function(openaclnn_add_plugin name)
  add_library(${name} MODULE ${PROJECT_SOURCE_DIR}/src/cuda/plugin.cc ${PROJECT_SOURCE_DIR}/src/ops/launches.cc ${ARGN})
  target_compile_definitions(${name} PRIVATE OPENACLNN_CUDA_BUILD="${OPENACLNN_CUDA_BUILD}")
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  target_link_libraries(${name} PRIVATE openaclnn_includes Threads::Threads)
endfunction()

# openaclnn_simt_sources(): how the emulation's own sources are compiled in the folder that calls this. ThreadSanitizer watches what
# kernels do, in the order that the emulation tells it, and not the emulation.
function(openaclnn_simt_sources)
  if(OPENACLNN_SANITIZE MATCHES thread)
    set(simt ${PROJECT_SOURCE_DIR}/src/cuda/simt)
    set_source_files_properties(${simt}/device_language.cc ${simt}/fiber.cc PROPERTIES
      COMPILE_OPTIONS -fno-sanitize=thread COMPILE_DEFINITIONS OPENACLNN_SIMT_RACES)
  endif()
endfunction()

# openaclnn_simt_objects(name sources…): an object library of what the C++ compiler compiles against the emulation of the device
# language. Kernels of .cu files count as C++ in the folder that calls this.
function(openaclnn_simt_objects name)
  set_source_files_properties(${OPENACLNN_CUDA_KERNELS} PROPERTIES LANGUAGE CXX)
  add_library(${name} OBJECT ${ARGN})
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${name} PRIVATE -Wno-unknown-pragmas)
  openaclnn_simt_sources()
  target_include_directories(${name} BEFORE PRIVATE ${PROJECT_SOURCE_DIR}/src/cuda/simt)
  target_link_libraries(${name} PRIVATE openaclnn_flags openaclnn_includes)
endfunction()

# openaclnn_ptx_objects(name sources…): an object library of what nvcc compiles as it does for the plugin, but with its PTX uncompressed,
# and telling of which line each instruction comes. The folder that calls this must not count .cu files as C++.
function(openaclnn_ptx_objects name)
  add_library(${name} OBJECT ${ARGN})
  get_target_property(options openaclnn_cuda COMPILE_OPTIONS)
  set_target_properties(${name} PROPERTIES CUDA_ARCHITECTURES 90-virtual CUDA_STANDARD 20 POSITION_INDEPENDENT_CODE ON
    CUDA_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${name} PRIVATE ${options} $<$<COMPILE_LANGUAGE:CUDA>:--no-compress -lineinfo>)
  target_link_libraries(${name} PRIVATE openaclnn_includes)
endfunction()

# openaclnn_add_ptx_plugin(name objects): the plugin of these kernels over the machine that runs their PTX.
function(openaclnn_add_ptx_plugin name objects)
  openaclnn_add_plugin(${name} $<TARGET_OBJECTS:openaclnn_ptx_runtime> $<TARGET_OBJECTS:openaclnn_ptx_machine> ${objects})
  target_include_directories(${name} SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(${name} PRIVATE openaclnn_flags)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX CUDA_RUNTIME_LIBRARY None)
endfunction()
