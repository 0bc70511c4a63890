#!/usr/bin/env bash
# Installs a build, moves the installation, and uses it there.
# usage: install_test.sh BUILD_FOLDER
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 BUILD_FOLDER" >&2; exit 2; }
sources=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$1" --prefix "$work/first" >"$work/log" || { cat "$work/log" >&2; exit 1; }
mv "$work/first" "$work/moved"
bash "$sources/use_installation.sh" "$work/moved"

# The command of the porting guide, unchanged, makes a program that starts without LD_LIBRARY_PATH.
guide=$sources/../../docs/porting.md
command=$(sed -n '/^g++ ported.cc .*pkg-config/,/-o ported$/p' "$guide")
[ -n "$command" ] || { echo "$guide has no command that uses pkg-config" >&2; exit 1; }
libraries=$(dirname "$(find "$work/moved" -name libopenaclnn.so)")
(
  mkdir "$work/guide"
  cd "$work/guide"
  cp "$sources/host_program.cc" ported.cc
  env PKG_CONFIG_PATH="$libraries/pkgconfig" bash -euc "$command"
  env -u LD_LIBRARY_PATH ./ported
)

# One part of a project finds the installation, another one contains the sources.
cmake -S "$sources/found_and_contained" -B "$work/both" -DCMAKE_PREFIX_PATH="$work/moved" -DOPENACLNN_SOURCES="$sources/../.." >"$work/log" &&
  cmake --build "$work/both" >>"$work/log" || { cat "$work/log" >&2; exit 1; }
"$work/both/by_both"

# A folder with a blank in its name must work where the tools permit it.
mv "$work/moved" "$work/moved here"
cmake -S "$sources/find_package" -B "$work/blank" -DCMAKE_PREFIX_PATH="$work/moved here" >"$work/log" &&
  cmake --build "$work/blank" >>"$work/log" || { cat "$work/log" >&2; exit 1; }
"$work/blank/by_openaclnn"
