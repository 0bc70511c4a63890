# Compiler of portable wheels: clang of PyPI's package ziglang. OPENACLNN_ZIG_TARGET names the processor and the oldest glibc.
# tools/make_wheels writes OPENACLNN_ZIG_TOOLS: cc, c++, ar, ranlib, and include/ with the headers of Highway, fmt and nlohmann-json.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES OPENACLNN_ZIG_TARGET OPENACLNN_ZIG_TOOLS)
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR "${OPENACLNN_ZIG_TARGET}")
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${OPENACLNN_ZIG_TOOLS}/cc)
set(CMAKE_CXX_COMPILER ${OPENACLNN_ZIG_TOOLS}/c++)
set(CMAKE_AR ${OPENACLNN_ZIG_TOOLS}/ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${OPENACLNN_ZIG_TOOLS}/ranlib CACHE FILEPATH "")

# Packages of headers only: files of the host's packages would add /usr/include, which has another glibc.
foreach(package hwy fmt nlohmann_json)
  set(${package}_DIR ${CMAKE_CURRENT_LIST_DIR}/zig CACHE PATH "")
endforeach()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# Trial programs aren't linked: zig would first compile libc++ for each new set of flags.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
