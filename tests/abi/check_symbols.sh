#!/bin/sh
# Proves that the library exports exactly the golden list, and that the list is exactly what the headers declare. An additional symbol becomes an
# unintended promise; a missing one breaks existing host programs.
# usage: check_symbols.sh LIBRARY [INCLUDE_DIR]
set -eu
export LC_ALL=C
[ $# -ge 1 ] || { echo "usage: $0 LIBRARY [INCLUDE_DIR]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
library=$1
include=$(cd "${2:-$here/../../include}" && pwd)
golden=$here/exported_symbols.txt
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

# gcc's list of prototypes is right for any layout of the text. Prototypes of system headers do not count.
(cd "$include" && find . -name '*.h' | sed 's|^\./\(.*\)|#include "\1"|' | sort) > "$scratch/all.c"
gcc -std=c11 -fsyntax-only -I"$include" -I"$include/aclnn" -I"$include/aclnnop" \
  -aux-info "$scratch/prototypes" "$scratch/all.c"
grep -F "/* $include/" "$scratch/prototypes" |
  sed -n 's/.*[ *]\([A-Za-z_][A-Za-z_0-9]*\) (.*/\1/p' > "$scratch/names"
[ -s "$scratch/names" ] || { echo "$0: gcc listed no functions below $include" >&2; exit 2; }
# Callers look these three up by name; no header declares them.
printf '%s\n' InitHugeMemThreadLocal ReleaseHugeMem UnInitHugeMemThreadLocal >> "$scratch/names"
sort -u "$scratch/names" > "$scratch/declared"

# A version node appears as an absolute symbol (type A); a versioned symbol has a suffix.
nm -D --defined-only "$library" | awk '$(NF-1) != "A" { sub(/@.*/, "", $NF); print $NF }' |
  sort -u > "$scratch/exported"

if ! diff -u "$golden" "$scratch/declared" > "$scratch/diff"; then
  echo "exported_symbols.txt (-) and the functions that the headers declare (+) differ:" >&2
  cat "$scratch/diff" >&2
  failed=1
fi
if ! diff -u "$golden" "$scratch/exported" > "$scratch/diff"; then
  echo "exported_symbols.txt (-) and the symbols that $library exports (+) differ:" >&2
  cat "$scratch/diff" >&2
  failed=1
fi
# Statics of functions are initialised behind a guard. A thread that disappeared in fork() may have held it for ever.
if nm -D --undefined-only "$library" | grep -F __cxa_guard_acquire >&2; then
  echo "$library initialises a static of a function at its first use; see src/base/first_use.h" >&2
  failed=1
fi
[ "$failed" -eq 0 ] || exit 1
echo "check_symbols: $library exports the $(wc -l < "$golden") golden symbols and nothing else"
