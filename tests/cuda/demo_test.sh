#!/bin/sh
# Tests that the demo trains with its operators on an emulated CUDA device, and learns exactly what it learns on the CPU.
# usage: demo_test.sh PROGRAM
set -eu
[ $# -eq 1 ] || { echo "usage: $0 PROGRAM" >&2; exit 2; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
yes 'a text without surprises, line after line' | head -c 4096 >small.txt
for device in cuda cpu; do
  "$1" --device $device --text small.txt --steps 4 --batch 160 --check-every 2 --quiet --out $device >$device.txt
done
[ "$(wc -l <cuda/loss.csv)" -eq 5 ] || { echo "loss.csv is not a header and one line per step" >&2; exit 1; }
cmp cuda/loss.csv cpu/loss.csv || { diff cuda/loss.csv cpu/loss.csv; exit 1; }
