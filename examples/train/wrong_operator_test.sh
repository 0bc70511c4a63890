#!/usr/bin/env bash
# The demo's oracle can fail: with a slightly wrong operator (wrong_operators.cc) the run ends with
# exit code 1 and a sentence that names it, and with none it succeeds.
set -u
train=$1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0

"$train" --steps 2 --quiet --out right >/dev/null || {
  echo "FAILED: without a planted bug"
  exit 1
}
rm -r right
for operator in aclnnEmbedding aclnnEmbeddingDenseBackward aclnnApplyFusedEmaAdam; do
  message=$(OPENACLNN_TRAIN_WRONG=$operator "$train" --steps 2 --out wrong 2>&1 >/dev/null)
  code=$?
  if [ "$code" -eq 1 ] && [ "$(wc -l <<<"$message")" -eq 1 ] && [ -z "$(ls -A)" ] &&
    grep -q "$operator: .*promised" <<<"$message"; then
    echo "ok      $message"
  else
    echo "FAILED  $operator: exit code $code, $message, left: $(ls -A)"
    failures=1
  fi
done
exit $failures
