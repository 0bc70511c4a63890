#!/usr/bin/env bash
# Tests that the demo's checks can fail. With a slightly wrong operator (wrong_operators.cc) the run ends with exit code 1 and one error message. The
# oracle's message names the operator. Without the oracle, that of the gradient check names a parameter behind it. With no wrong operator the run
# succeeds.
set -u
train=$1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0

"$train" --steps 1 --batch 64 --quiet --out right >/dev/null || {
  echo "FAILED: without a planted bug"
  exit 1
}
rm -r right

# expect BUG CHECK_EVERY WORDS: the run ends with an error message that matches WORDS.
expect() {
  local message code
  message=$(OPENACLNN_TRAIN_WRONG=$1 "$train" --steps 1 --batch 64 --check-every "$2" --out wrong 2>&1 >/dev/null)
  code=$?
  if [ "$code" -eq 1 ] && [ "$(wc -l <<<"$message")" -eq 1 ] && [ -z "$(ls -A)" ] &&
    grep -qE "$3" <<<"$message"; then
    echo "ok      $message"
  else
    echo "FAILED  $1: exit code $code, $message, left: $(ls -A)"
    failures=1
  fi
}

expect aclnnEmbedding                1 "aclnnEmbedding: .*promised"
expect aclnnEmbeddingDenseBackward   1 "aclnnEmbeddingDenseBackward: .*promised"
expect aclnnNsaCompress              1 "aclnnNsaCompress: .*promised"
expect "aclnnNsaCompressGrad input"  1 "aclnnNsaCompressGrad: output input .*promised"
expect "aclnnNsaCompressGrad weight" 1 "aclnnNsaCompressGrad: output weight .*promised"
expect aclnnGroupedBiasAddGrad       1 "aclnnGroupedBiasAddGrad: .*promised"
expect aclnnApplyFusedEmaAdam        1 "aclnnApplyFusedEmaAdam: .*promised"

differs="central differences give"
expect aclnnEmbedding                0 "gradient check: .*$differs"
expect aclnnEmbeddingDenseBackward   0 "gradient check: .*embedding\.table.*$differs"
expect aclnnNsaCompress              0 "gradient check: .*$differs"
expect "aclnnNsaCompressGrad input"  0 "gradient check: .*$differs"
expect "aclnnNsaCompressGrad weight" 0 "gradient check: .*compression\.weight.*$differs"
expect aclnnGroupedBiasAddGrad       0 "gradient check: .*mixture\.(first|second)\.bias.*$differs"
exit $failures
