#!/usr/bin/env bash
# Builds the fuzz targets for ClusterFuzzLite, with their inputs, in $OUT. The preset fuzz has its own compiler flags.
set -euo pipefail
unset CFLAGS CXXFLAGS
./dev fuzz --export "$OUT"
