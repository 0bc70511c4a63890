#!/usr/bin/env bash
# Compiles the first program of README.md as C++11, runs it, and compares its output with what README.md promises.
# usage: readme_program_test.sh REPOSITORY LIBRARY_FOLDER      CXX and CXXFLAGS are honoured (sanitizers need -fsanitize=...)
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: $0 REPOSITORY LIBRARY_FOLDER" >&2; exit 2; }
root=$(cd "$1" && pwd)
lib=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prints the first fenced block of a language: block LANGUAGE
block() {
  awk -v start="\`\`\`$1" '!inside && !done && $0 == start { inside = 1; next }
    inside && $0 == "```" { inside = 0; done = 1 }
    inside { print }' "$root/README.md"
}
block cpp >"$work/program.cc"
block text >"$work/expected"
if [ ! -s "$work/program.cc" ] || [ ! -s "$work/expected" ]; then
  echo "README.md has no cpp block or no text block" >&2
  exit 1
fi

# CXXFLAGS is a list of words.
# shellcheck disable=SC2086
"${CXX:-g++}" -std=c++11 -Wall -Wextra -Werror ${CXXFLAGS-} -I"$root/include" "$work/program.cc" \
  -L"$lib" -lopenaclnn -Wl,-rpath,"$lib" -o "$work/program"
"$work/program" >"$work/actual"
diff -u "$work/expected" "$work/actual"
echo "the program of README.md compiles, runs and prints what README.md says"
