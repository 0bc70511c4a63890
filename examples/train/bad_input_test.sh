#!/usr/bin/env bash
# Tests that bad input ends the demo with exit code 2 and one error message on stderr, and leaves no file or folder behind.
set -u
train=$1
folder=$(mktemp -d) || exit 1
log=$(mktemp -d) || exit 1
trap 'rm -rf "$folder" "$log"' EXIT
cd "$folder" || exit 1
failures=0

# expect NAME WORDS ARGUMENTS...: WORDS must occur in the error message.
expect() {
  local name=$1 words=$2 before after code
  shift 2
  before=$(find . | sort)
  timeout 60 "$train" "$@" >"$log"/out 2>"$log"/err </dev/null
  code=$?
  after=$(find . | sort)
  local problem=
  [ "$code" -eq 2 ] || problem="exit code $code instead of 2"
  [ "$(wc -l <"$log"/err)" -eq 1 ] || problem+=", stderr is not one line"
  grep -qF -- "$words" "$log"/err || problem+=", '$words' is not in the message"
  [ ! -s "$log"/out ] || problem+=", stdout is not empty"
  [ "$before" = "$after" ] || problem+=", something was written"
  if [ -z "$problem" ]; then
    echo "ok      $name"
  else
    echo "FAILED  $name: $problem"
    cat "$log"/err
    failures=$((failures + 1))
  fi
  rm -f "$log"/out "$log"/err
}

: >empty.txt
echo "Too short to learn from." >tiny.txt
yes 'a line of text' | head -c 8192 >good.txt
mkdir folder
mkfifo pipe
echo file >taken

expect "missing text"            "does not exist"          --text nowhere.txt
expect "empty text"              "is empty"                --text empty.txt
expect "tiny text"               "too short: 25 bytes"     --text tiny.txt
expect "directory as text"       "is a directory"          --text folder
expect "pipe as text"            "not a regular file"      --text pipe
expect "empty name of the text"  "does not exist"          --text ""
expect "unknown option"          "--colour"                --colour blue
expect "stray argument"          "blue"                    blue
expect "option without value"    "--steps"                 --steps
expect "steps not a number"      "--steps"                 --text good.txt --steps many
expect "no steps"                "--steps"                 --text good.txt --steps 0
expect "negative steps"          "--steps"                 --text good.txt --steps -3
expect "steps out of range"      "--steps"                 --text good.txt --steps 99999999999999999999
expect "batch out of range"      "--batch"                 --text good.txt --batch 65537
expect "unknown storage type"    "--dtype"                 --text good.txt --dtype f64
expect "empty storage type"      "--dtype"                 --text good.txt --dtype ""
expect "negative check-every"    "--check-every"           --text good.txt --check-every -1
expect "negative seed"           "--seed"                  --text good.txt --seed -1
expect "output is a file"        "is not a directory"      --text good.txt --out taken
expect "output under a file"     "is not a directory"      --text good.txt --out taken/out
expect "output without a name"   "name is empty"           --text good.txt --out ""
expect "output cannot be made"   "cannot be used"          --text good.txt --out /proc/openaclnn/out
if [ "$(id -u)" -ne 0 ]; then
  cp good.txt secret.txt && chmod 000 secret.txt
  mkdir locked && chmod 555 locked
  expect "unreadable text"       "cannot be read"          --text secret.txt
  expect "output not writable"   "cannot be used"          --text good.txt --out locked
  expect "output not makeable"   "cannot be used"          --text good.txt --out locked/new/deep
  chmod 755 locked
fi
exit $((failures > 0))
