# nlohmann-json for cmake/zig.toolchain.cmake: the compiler finds its headers itself.
add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED)
