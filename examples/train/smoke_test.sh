#!/usr/bin/env bash
# Tests short runs: each storage type succeeds and writes its two files, the same seed gives the same bits with another number of threads, a small
# text is enough, and a full disk ends the run with one error message.
set -u
train=$1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
fail() {
  echo "FAILED: $*"
  exit 1
}

operators="aclnnEmbedding aclnnEmbeddingDenseBackward aclnnNsaCompress aclnnNsaCompressGrad
  aclnnGroupedBiasAddGrad aclnnApplyFusedEmaAdam"
yes 'a text without surprises, line after line' | head -c 4096 >small.txt

for dtype in f32 bf16 fp16; do
  "$train" --text small.txt --steps 6 --batch 160 --check-every 3 --dtype $dtype --out $dtype/results >$dtype.txt ||
    fail "$dtype ended with exit code $?"
  files=$(ls -A $dtype/results | tr '\n' ' ')
  [ "$files" = "loss.csv loss.svg " ] || fail "$dtype/results holds: $files"
  [ "$(wc -l <$dtype/results/loss.csv)" -eq 7 ] || fail "loss.csv is not a header and one line per step"
  for name in $operators; do
    grep -qE "^$name +[1-9].*(same bits|%.*%)" $dtype.txt || fail "$name is not in the table of $dtype"
  done
  grep -q "^gradient check: .* agree" $dtype.txt || fail "no gradient check with $dtype"
  ! grep -q $'\r' $dtype.txt || fail "a live progress line was written to a file"
  first=$(sed -n '2s/.*,\([^,]*\),.*,.*/\1/p' $dtype/results/loss.csv)
  last=$(sed -n '7s/.*,\([^,]*\),.*,.*/\1/p' $dtype/results/loss.csv)
  awk -v first="$first" -v last="$last" 'BEGIN { exit !(last < first) }' || fail "$dtype does not learn: $first, $last"
done
cmp -s f32/results/loss.csv bf16/results/loss.csv && fail "--dtype changes nothing"

# One thread of the library and one core for the program's own.
core=$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')
OPENACLNN_NUM_THREADS=1 taskset -c "$core" "$train" --text small.txt --steps 6 --batch 160 --check-every 0 --quiet --out one >/dev/null ||
  fail "the run with one thread ended with exit code $?"
cmp f32/results/loss.csv one/loss.csv || fail "the same seed gave other losses"

# A limit of zero bytes per file simulates the full disk.
message=$(trap '' XFSZ; ulimit -f 0; "$train" --text small.txt --steps 1 --out third 2>&1 >/dev/null)
[ $? -eq 1 ] || fail "a full disk does not end in exit code 1: $message"
[ "$(wc -l <<<"$message")" -eq 1 ] || fail "a full disk says: $message"
grep -q "cannot be written" <<<"$message" || fail "a full disk says: $message"
[ -z "$(ls -A third)" ] || fail "a full disk leaves: $(ls -A third)"

# One position a step: no sequence is long enough for a compression block.
"$train" --text small.txt --steps 1 --batch 1 --check-every 1 --quiet --out fourth >/dev/null ||
  fail "one position a step ended with exit code $?"

message=$("$train" --text small.txt --steps 1 --out fifth 2>&1 >/dev/full)
[ $? -eq 1 ] || fail "a full standard output does not end in exit code 1: $message"
[ "$(wc -l <<<"$message")" -eq 1 ] || fail "a full standard output says: $message"

# Closed and full streams; ./dev check terminal has all of them.
"$train" --text nowhere.txt 2>&-
[ $? -eq 2 ] || fail "a closed stderr ends bad input with another code than 2"
"$train" --text nowhere.txt 2>/dev/full
[ $? -eq 2 ] || fail "a full stderr ends bad input with another code than 2"
message=$("$train" --text small.txt --steps 1 --out sixth 2>&1 >&-)
[ $? -eq 1 ] || fail "a closed standard output does not end in exit code 1: $message"
echo "ok"
