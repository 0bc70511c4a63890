#!/usr/bin/env bash
# Configures a project that contains openaclnn, by FetchContent and by add_subdirectory, and compiles a CANN-style program with its headers.
# usage: subproject_test.sh SOURCES [--build]      --build also builds the library and runs the program, which takes minutes
set -euo pipefail
[ $# -eq 1 ] || { [ $# -eq 2 ] && [ "$2" = --build ]; } || { echo "usage: $0 SOURCES [--build]" >&2; exit 2; }
sources=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; echo "failed: $*" >&2; exit 1; }; }

for how in fetch_content add_subdirectory; do
  quietly cmake -S "$sources/subproject" -B "$work/$how" -G Ninja -DHOW=$how -DOPENACLNN_SOURCES="$1"
  object=$(ninja -C "$work/$how" -t targets all | sed -n 's/^\(CMakeFiles\/by_subproject\.dir\/.*\.o\):.*/\1/p')
  quietly ninja -C "$work/$how" "$object"
  if ninja -C "$work/$how" -t targets all | grep -E 'libascendcl|openaclnn_cuda'; then
    echo "$how: the project builds cann-compat or the CUDA plugin" >&2
    exit 1
  fi
  quietly cmake --install "$work/$how" --prefix "$work/installed"
  [ ! -e "$work/installed" ] || { echo "$how: the project installs openaclnn" >&2; exit 1; }
done

# Flags that are right for the project's own sources must not reach the library's.
strict="-fno-exceptions -fno-rtti -Wall -Wextra -Wpedantic -Wconversion -Wold-style-cast -Werror"
quietly cmake -S "$sources/subproject" -B "$work/add_subdirectory" -DCMAKE_CXX_FLAGS="$strict" -DCMAKE_UNITY_BUILD=ON \
  -DCMAKE_COMPILE_WARNING_AS_ERROR=ON -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON
quietly ninja -C "$work/add_subdirectory" openaclnn/src/CMakeFiles/openaclnn_objects.dir/api/acl_device.cc.o
if ninja -C "$work/add_subdirectory" -t targets all | grep '^openaclnn/.*Unity'; then
  echo "the project's CMAKE_UNITY_BUILD joins sources of openaclnn" >&2
  exit 1
fi

# Libraries with clang's sanitizers have undefined functions.
if command -v clang++ >/dev/null; then
  quietly cmake -S "$sources/subproject" -B "$work/sanitized" -G Ninja -DHOW=add_subdirectory -DOPENACLNN_SOURCES="$1" \
    -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_CXX_FLAGS=-fsanitize=address
  if ninja -C "$work/sanitized" -t commands openaclnn | grep -e --no-undefined; then
    echo "the library can't be linked with clang's sanitizers" >&2
    exit 1
  fi
fi

if [ "${2:-}" = --build ]; then
  quietly ninja -C "$work/fetch_content" by_subproject
  "$work/fetch_content/by_subproject"
fi
echo "a project contains openaclnn by FetchContent and by add_subdirectory"
