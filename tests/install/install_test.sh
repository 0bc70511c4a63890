#!/usr/bin/env bash
# Installs a build, moves the installation, and uses it there.
# usage: install_test.sh BUILD_FOLDER
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 BUILD_FOLDER" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$1" --prefix "$work/first" >"$work/log" || { cat "$work/log" >&2; exit 1; }
mv "$work/first" "$work/moved"
bash "$(dirname "${BASH_SOURCE[0]}")/use_installation.sh" "$work/moved"

# A folder with a blank in its name must do where the tools allow it.
mv "$work/moved" "$work/moved here"
cmake -S "$(dirname "${BASH_SOURCE[0]}")/find_package" -B "$work/blank" -DCMAKE_PREFIX_PATH="$work/moved here" >"$work/log" &&
  cmake --build "$work/blank" >>"$work/log" || { cat "$work/log" >&2; exit 1; }
"$work/blank/by_openaclnn"
