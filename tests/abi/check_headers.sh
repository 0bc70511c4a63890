#!/bin/sh
# Compiles every public header alone, without a warning, in every language mode that callers may use. A header that needs another one first, or that
# only our flags accept, breaks host programs.
# usage: check_headers.sh INCLUDE_DIR [JOBS]
set -eu
[ $# -ge 1 ] || { echo "usage: $0 INCLUDE_DIR [JOBS]" >&2; exit 2; }
include=$(cd "$1" && pwd)
jobs=${2:-$(nproc)}

modes="c:c99 c:c11 c++:c++11 c++:c++14 c++:c++17 c++:c++20"
compilers=""
for compiler in gcc clang; do
  if command -v "$compiler" >/dev/null 2>&1; then compilers="$compilers $compiler"; fi
done
[ -n "$compilers" ] || { echo "$0: neither gcc nor clang is installed" >&2; exit 2; }

# Compiles a file that includes one header twice, to test its include guard. The typedef is for headers without declarations: -Wpedantic rejects an
# empty file.
compile='
  include=$1 compiler=$2 language=${3%%:*} standard=${3#*:} header=$4
  strict=""
  if [ "$language" = c ]; then strict="-Wstrict-prototypes"; fi
  if ! printf "#include \"%s\"\n#include \"%s\"\ntypedef int not_empty;\n" "$header" "$header" |
      "$compiler" -x "$language" -std="$standard" -fsyntax-only -Wall -Wextra -Wpedantic -Werror $strict \
        -I"$include" -I"$include/aclnn" -I"$include/aclnnop" - ; then
    echo "FAILED: $header with $compiler -std=$standard" >&2
    exit 1
  fi
'
list=$(cd "$include" && find . -name '*.h' | sed 's|^\./||' | LC_ALL=C sort)
[ -n "$list" ] || { echo "$0: no headers below $include" >&2; exit 2; }

for compiler in $compilers; do
  for mode in $modes; do
    for header in $list; do
      printf '%s\n%s\n%s\n' "$compiler" "$mode" "$header"
    done
  done
done | xargs -n 3 -P "$jobs" sh -c "$compile" check "$include" || {
  echo "check_headers: some headers do not compile alone" >&2
  exit 1
}
echo "check_headers: $(echo "$list" | wc -l) headers are fine with$compilers in: $modes"
