#!/bin/sh
# Copies sources of kernels and plants a bug in the copies, with a patch that must apply without fuzz.
# usage: plant.sh TREE PATCH FOLDER FILE…
set -eu
tree=$1
patch=$2
folder=$3
shift 3

rm -rf "$folder"
for file in "$@"; do
  mkdir -p "$folder/$(dirname "$file")"
  cp "$tree/$file" "$folder/$file"
done
if ! patch --directory="$folder" --strip=1 --fuzz=0 --batch --no-backup-if-mismatch --input="$patch"; then
  rm -rf "$folder"
  echo "error: $patch does not apply to $*: make the patch anew from the source as it is now" >&2
  exit 1
fi
