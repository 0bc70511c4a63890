# Highway for cmake/zig.toolchain.cmake: the compiler finds its headers itself.
