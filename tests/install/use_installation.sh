#!/usr/bin/env bash
# Builds and runs programs against an installation, outside the tree: by find_package, by pkg-config, and like CANN's programs, with every available
# compiler and language version.
# usage: use_installation.sh PREFIX      (pkg-config and make want one without blanks)
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 PREFIX" >&2; exit 2; }
sources=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
prefix=$(cd "$1" && pwd)
library=$(dirname "$(find "$prefix/lib" -name libopenaclnn.so)")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

say() { printf -- '-- %s\n' "$*"; }
quietly() { "$@" >log 2>&1 || { cat log >&2; echo "failed: $*" >&2; exit 1; }; }

say "find_package"
quietly cmake -S "$sources/find_package" -B found -DCMAKE_PREFIX_PATH="$prefix"
quietly cmake --build found
found/by_openaclnn
found/by_cann_compat
for name in ascendcl nnopbase opapi_nn; do # otherwise it doesn't start on a machine with CANN
  readelf -d found/by_cann_compat | grep -q "NEEDED.*lib$name.so" || { echo "by_cann_compat does not need lib$name.so" >&2; exit 1; }
done
if readelf -d found/by_cann_compat | grep -q 'NEEDED.*openaclnn'; then echo "by_cann_compat names openaclnn" >&2; exit 1; fi
if cmake -S "$sources/find_package" -B component -DCMAKE_PREFIX_PATH="$prefix" -DCOMPONENT=library >log 2>&1; then
  echo "find_package finds a component that doesn't exist" >&2
  exit 1
fi
tr -s ' \n' ' ' <log | grep -q "'library', one isn't in this installation. The only component is compat" ||
  { cat log >&2; echo "the error of find_package doesn't name the component" >&2; exit 1; }

say "pkg-config"
export PKG_CONFIG_PATH=$library/pkgconfig
# The flags are lists of words.
# shellcheck disable=SC2046
quietly "${CXX:-c++}" -std=c++11 $(pkg-config --cflags openaclnn) "$sources/host_program.cc" $(pkg-config --libs openaclnn) -pthread -o by_pkg_config
LD_LIBRARY_PATH=$library ./by_pkg_config

# From here on the installation serves as CANN's toolkit, and nothing uses the name openaclnn.
# shellcheck disable=SC1091
source "$library/openaclnn/cann-compat/set_env.sh"
[ "$ASCEND_HOME_PATH" = "$library/openaclnn/cann-compat" ] || { echo "ASCEND_HOME_PATH is $ASCEND_HOME_PATH" >&2; exit 1; }
for compiler in g++ clang++; do
  if ! command -v "$compiler" >/dev/null; then
    say "skipped: $compiler is not installed"
    continue
  fi
  for version in 11 14 17 20; do
    say "CANN's way with CMake, $compiler, C++$version"
    quietly cmake -S "$sources/cann_cmake" -B "cmake-$compiler-$version" -DCMAKE_CXX_COMPILER="$compiler" \
      -DCMAKE_CXX_STANDARD=$version -DCMAKE_CXX_EXTENSIONS=OFF
    quietly cmake --build "cmake-$compiler-$version"
    "cmake-$compiler-$version/host_program"
  done
done

say "CANN's way with make, and functions found by name"
cp -r "$sources" tests
quietly make -C tests/cann_make LDFLAGS=-Wl,--no-as-needed
tests/cann_make/host_program
# On a machine with CANN, each of these libraries has functions that the program calls. Here the first one has all of them.
for name in ascendcl nnopbase opapi; do
  readelf -d tests/cann_make/host_program | grep -q "NEEDED.*lib$name.so" || { echo "host_program does not need lib$name.so" >&2; exit 1; }
done
tests/cann_make/names_program
python3 "$sources/names_caller.py"

say "a sample that links the operator compiler: compat-check, then both of its builds"
wanted="in cann-compat: acl_op_compiler, ascendcl, nnopbase, opapi
nothing is missing"
for build_file in CMakeLists.txt Makefile; do
  told=$("$prefix/bin/openaclnn" compat-check "tests/cann_sample/$build_file" tests/host_program.cc)
  [ "$told" = "$wanted" ] || { printf 'compat-check on %s says:\n%s\n' "$build_file" "$told" >&2; exit 1; }
done
# Some linkers drop libraries without used symbols. The program must search for all of them when it starts.
quietly cmake -S tests/cann_sample -B sample-cmake -DCMAKE_EXE_LINKER_FLAGS=-Wl,--no-as-needed
quietly cmake --build sample-cmake
quietly env LDFLAGS=-Wl,--no-as-needed make -C tests/cann_sample
for sample in sample-cmake/sample tests/cann_sample/sample; do
  readelf -d "$sample" | grep -q 'NEEDED.*libacl_op_compiler.so' || { echo "$sample does not need libacl_op_compiler.so" >&2; exit 1; }
  "$sample"
done

say "set_env.sh by a relative path, and without its libraries"
(
  cd "$library/openaclnn"
  export CDPATH=/tmp:.
  # shellcheck disable=SC1091
  source cann-compat/set_env.sh
  [ "$ASCEND_HOME_PATH" = "$library/openaclnn/cann-compat" ] || { echo "with CDPATH, ASCEND_HOME_PATH is $ASCEND_HOME_PATH" >&2; exit 1; }
)
cp "$library/openaclnn/cann-compat/set_env.sh" .
# shellcheck disable=SC1091
if (source ./set_env.sh) 2>/dev/null; then echo "set_env.sh succeeds without its libraries" >&2; exit 1; fi

say "set_env.sh in other shells"
for shell in sh zsh; do
  command -v $shell >/dev/null || { say "skipped: $shell is not installed"; continue; }
  (cd "$ASCEND_HOME_PATH" && env -u ASCEND_HOME_PATH -u LD_LIBRARY_PATH "$shell" -c \
    '. ./set_env.sh && . ./set_env.sh && [ "$LD_LIBRARY_PATH" = "$ASCEND_HOME_PATH/lib64" ] && ls "$ASCEND_HOME_PATH"/lib64/libopapi_*.so' >/dev/null)
done
echo "$prefix was used by $(find . -type f -name host_program | wc -l) CANN-style builds, find_package and pkg-config"
