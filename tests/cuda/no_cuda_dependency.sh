#!/bin/sh
# Proves that the library does not depend on CUDA: machines without a driver must load it.
# usage: no_cuda_dependency.sh LIBRARY
set -eu
[ $# -eq 1 ] || { echo "usage: $0 LIBRARY" >&2; exit 2; }
failed=0
if readelf -d "$1" | grep -E 'NEEDED.*(cuda|nvidia|cudart)'; then
  echo "$1 needs a library of CUDA" >&2
  failed=1
fi
if nm -D --undefined-only "$1" | grep -E ' (cuda|cu[A-Z]|nvml)'; then
  echo "$1 wants symbols of CUDA" >&2
  failed=1
fi
[ "$failed" -eq 0 ] || exit 1
echo "no_cuda_dependency: $(readelf -d "$1" | grep -c NEEDED) needed libraries, none of CUDA"
