# Cross compiler for AArch64 Linux from an x86-64 Debian machine with the foreign architecture arm64 enabled.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

# Debian keeps arm64 libraries beside the native ones, below lib/aarch64-linux-gnu; headers are shared.
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu /)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)

# Tests run under emulation where qemu is installed; the multiarch loader finds its own libraries.
find_program(OPENACLNN_QEMU_AARCH64 NAMES qemu-aarch64 qemu-aarch64-static)
if(OPENACLNN_QEMU_AARCH64)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${OPENACLNN_QEMU_AARCH64}")
endif()
