# Finds nvcc, sets its options and defines the sources of the CUDA plugin. tests/cuda/emulators.cmake defines the plugins of tests.
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
  # Cubins of what is common, and PTX for what comes between and later. CUDA 12.8 was the first to know the last two. The plugin refuses
  # GPUs before the first (kLeastCapability).
  set(OPENACLNN_CUDA_ARCHITECTURES 80-real 90)
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)
    list(APPEND OPENACLNN_CUDA_ARCHITECTURES 100-real 120)
  endif()
  # Bits as on the CPU: no contraction. A register that spills or memory of threads would cost more than any trick gains.
  set(OPENACLNN_CUDA_OPTIONS $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false -Xptxas -warn-spills,-warn-lmem-usage
    -Werror all-warnings --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra,-ffp-contract=off,-fno-strict-aliasing>)
else()
  message(STATUS "CUDA plugin: not built (OPENACLNN_CUDA is ${OPENACLNN_CUDA}; nvcc of CUDA 12.4 or later is needed)")
endif()

# Types that library and plugin share must come from one build: the name holds a hash of their sources.
file(GLOB shared CONFIGURE_DEPENDS src/base/*.h src/runtime/device.h src/runtime/fault.h src/runtime/recycle.h
  src/cuda/plugin.h src/cuda/launch.h src/cuda/side_stream_handles.h src/cuda/upload_piece.h
  src/ops/*.h src/ops/*/op.h src/ops/*/plan.h src/ops/*/windows.h src/ops/*/*/op.h src/ops/*/*/plan.h)
set(hashes "")
foreach(header IN LISTS shared)
  file(MD5 ${header} hash)
  string(APPEND hashes ${hash})
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${shared})
string(MD5 hash "${hashes}")
string(SUBSTRING ${hash} 0 12 hash)
set(OPENACLNN_CUDA_BUILD "${PROJECT_VERSION}-${hash}")

openaclnn_room_files(cuda.cu OPENACLNN_CUDA_KERNELS)

# openaclnn_add_plugin(name): a plugin of the sources that both have; the caller adds kernels and the CUDA runtime.
function(openaclnn_add_plugin name)
  add_library(${name} MODULE ${PROJECT_SOURCE_DIR}/src/cuda/plugin.cc ${PROJECT_SOURCE_DIR}/src/cuda/side_stream.cc
    ${PROJECT_SOURCE_DIR}/src/ops/launches.cc ${ARGN})
  target_compile_definitions(${name} PRIVATE OPENACLNN_CUDA_BUILD="${OPENACLNN_CUDA_BUILD}")
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
  target_link_libraries(${name} PRIVATE openaclnn_includes Threads::Threads)
endfunction()
