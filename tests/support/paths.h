// Paths of the source tree and the build folder that tests read or run. They differ from clone to clone. Therefore CMake defines each in a
// source of its own (openaclnn_test_path), and a compiler cache that clones share knows all other sources again. A program has only
// the constants that its CMakeLists.txt names.
#pragma once

namespace test_paths {

extern const char* const ops_folder;        // src/ops
extern const char* const headers;           // include
extern const char* const exported_symbols;  // tests/abi/exported_symbols.txt
extern const char* const pt_folder;         // tests/judge/pt
extern const char* const msprobe_folder;    // tests/judge/msprobe

extern const char* const library;      // libopenaclnn.so
extern const char* const fake_plugin;  // the plugin over a fake GPU
extern const char* const old_plugin;   // a plugin of another build

extern const char* const env_program;
extern const char* const exit_program;
extern const char* const first_use_program;
extern const char* const refusal_log_program;

}  // namespace test_paths
