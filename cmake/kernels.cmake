# Kernels are compiled once per instruction set, each time into a namespace of its own; cpu/dispatch.h chooses at run time.
set(OPENACLNN_ISA_ROWS baseline)
set(OPENACLNN_FLAGS_baseline "")
set(OPENACLNN_TARGET_baseline HWY_COMPILE_ONLY_STATIC)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND OPENACLNN_ISA_ROWS avx2 avx512)
  set(OPENACLNN_TARGET_baseline HWY_COMPILE_ONLY_SCALAR) # also where a newer Highway has SSE2
  set(OPENACLNN_TARGET_avx2 HWY_COMPILE_ONLY_STATIC)
  set(OPENACLNN_TARGET_avx512 HWY_COMPILE_ONLY_STATIC)
  set(OPENACLNN_FLAGS_avx2 -mavx2 -mfma -mbmi -mbmi2 -mf16c)
  set(OPENACLNN_FLAGS_avx512 ${OPENACLNN_FLAGS_avx2} -mavx512f -mavx512vl -mavx512dq -mavx512bw -mavx512cd)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  # Highway declares its NEON functions with AES, so their callers must also be compiled with it. Nothing here uses AES,
  # and the compiler does not emit it by itself.
  set(OPENACLNN_FLAGS_baseline -march=armv8-a+crypto)
endif()

# The set that this machine uses. Undefined behaviour belongs to the source rather than to the set, and looking for it takes g++ as long
# as all the rest. So its sanitizer watches the kernels of this set only, which nearly all tests run.
set(OPENACLNN_WATCHED_ISA baseline)
if(EXISTS /proc/cpuinfo AND NOT CMAKE_CROSSCOMPILING)
  file(STRINGS /proc/cpuinfo cpu_flags REGEX "^flags" LIMIT_COUNT 1)
  if(cpu_flags MATCHES " avx512bw")
    set(OPENACLNN_WATCHED_ISA avx512)
  elseif(cpu_flags MATCHES " avx2")
    set(OPENACLNN_WATCHED_ISA avx2)
  endif()
endif()

# openaclnn_add_kernels(name out_objects files…): object libraries name_<isa>; their objects are listed in out_objects.
# HWY_COMPILE_ONLY_STATIC: Highway uses just the target that the flags name.
function(openaclnn_add_kernels name out_objects)
  set(objects "")
  foreach(isa IN LISTS OPENACLNN_ISA_ROWS)
    set(target ${name}_${isa})
    add_library(${target} OBJECT ${ARGN})
    target_compile_definitions(${target} PRIVATE
      OPENACLNN_ISA_NAMESPACE=isa_${isa} ${OPENACLNN_TARGET_${isa}} HWY_DISABLE_PCLMUL_AES)
    target_compile_options(${target} PRIVATE ${OPENACLNN_FLAGS_${isa}} -fvisibility=hidden -fvisibility-inlines-hidden
      "$<$<CONFIG:Release>:-O3;-fstack-usage>")
    target_link_libraries(${target} PRIVATE openaclnn_flags openaclnn_hardening openaclnn_includes)
    # These sources keep no address of a local variable. The scopes of unrolled vectors took g++ two thirds of their time, and
    # its frames for use after return are aligned to 32 bytes, where vectors of 64 bytes fault (GCC PR110027). Registers are allocated
    # function by function: with loops as regions, it takes up to half of the time of a source.
    if(OPENACLNN_SANITIZE MATCHES address AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
      target_compile_options(${target} PRIVATE -fno-sanitize-address-use-after-scope --param asan-use-after-return=0 -fira-region=one)
      if(OPENACLNN_SANITIZE MATCHES undefined AND NOT isa STREQUAL OPENACLNN_WATCHED_ISA)
        target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
      endif()
    endif()
    if(OPENACLNN_SANITIZE MATCHES fuzzer)
      # A fuzzer scans all counters after every run, and nine tenths of them would be those of kernels, once per instruction set.
      target_compile_options(${target} PRIVATE -fno-sanitize=fuzzer-no-link)
    endif()
    list(APPEND objects $<TARGET_OBJECTS:${target}>)
  endforeach()
  set(${out_objects} ${objects} PARENT_SCOPE)
endfunction()
