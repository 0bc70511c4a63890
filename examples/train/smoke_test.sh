#!/usr/bin/env bash
# A short run succeeds and writes its two files, the same seed gives the same bits with another number of
# threads, and a disk that fills up ends the run with one sentence.
set -u
train=$1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
fail() {
  echo "FAILED: $*"
  exit 1
}

"$train" --steps 20 --check-every 5 --out first/results >first.txt || fail "exit code $?"
files=$(ls -A first/results | tr '\n' ' ')
[ "$files" = "loss.csv loss.svg " ] || fail "first/results holds: $files"
[ "$(wc -l <first/results/loss.csv)" -eq 21 ] || fail "loss.csv is not a header and one line per step"
for name in aclnnEmbedding aclnnEmbeddingDenseBackward aclnnApplyFusedEmaAdam; do
  grep -qE "^$name +[1-9]" first.txt || fail "$name is not in the table"
done
! grep -q $'\r' first.txt || fail "a live progress line was written to a file"

OPENACLNN_NUM_THREADS=1 "$train" --steps 20 --check-every 0 --quiet --out second >/dev/null ||
  fail "the second run ended with exit code $?"
cmp first/results/loss.csv second/loss.csv || fail "the same seed gave other losses"

# A limit of zero bytes per file stands for the full disk.
message=$(trap '' XFSZ; ulimit -f 0; "$train" --steps 1 --out third 2>&1 >/dev/null)
[ $? -eq 1 ] || fail "a full disk does not end in exit code 1: $message"
[ "$(wc -l <<<"$message")" -eq 1 ] || fail "a full disk says: $message"
grep -q "cannot be written" <<<"$message" || fail "a full disk says: $message"
[ -z "$(ls -A third)" ] || fail "a full disk leaves: $(ls -A third)"

message=$("$train" --steps 1 --out fourth 2>&1 >/dev/full)
[ $? -eq 1 ] || fail "a full standard output does not end in exit code 1: $message"
[ "$(wc -l <<<"$message")" -eq 1 ] || fail "a full standard output says: $message"
echo "ok"
