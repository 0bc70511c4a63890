# The verb test of ./dev, which includes this file.
# shellcheck shell=bash disable=SC2154

# gcc's ThreadSanitizer cannot start when the kernel randomises more than 28 address bits; without randomisation it can.
launcher_for() {
  local bits=28
  if [ "$1" = tsan ] && [ -r /proc/sys/vm/mmap_rnd_bits ]; then bits=$(cat /proc/sys/vm/mmap_rnd_bits); fi
  if [ "$bits" -gt 28 ] && setarch "$(uname -m)" -R true 2>/dev/null; then printf 'setarch %s -R' "$(uname -m)"; fi
}

# One number of the first line group of a JUnit report: junit_count FILE ATTRIBUTE
junit_count() {
  sed -n "s/^[[:space:]]*$2=\"\([0-9]*\)\".*/\1/p" "$1" | head -n 1
}

# Runs ctest on a built preset and adds to the totals; extra arguments go to ctest.
run_ctest() {
  local preset=$1 report=$root/build/$1/ctest.xml launcher status=0 total failed skipped not_run
  shift
  launcher=$(launcher_for "$preset")
  rm -f "$report"
  # The launcher is a word list, or nothing.
  # shellcheck disable=SC2086
  $launcher ctest --preset "$preset" --no-tests=error --output-junit "$report" "$@" || status=$?
  if [ -f "$report" ]; then
    total=$(junit_count "$report" tests)
    failed=$(junit_count "$report" failures)
    skipped=$(($(junit_count "$report" skipped) + $(junit_count "$report" disabled)))
    passed_total=$((passed_total + total - failed - skipped))
    failed_total=$((failed_total + failed))
    skipped_total=$((skipped_total + skipped))
    summary+=("$preset: $((total - failed - skipped)) passed, $failed failed, $skipped skipped")
    not_run=$(grep -ho '[0-9]* device cases were not run: .*' "$report" | head -n 1) || true
    if [ -n "$not_run" ]; then summary+=("$preset: $not_run"); fi
  else
    summary+=("$preset: ctest wrote no results")
  fi
  return $status
}

# Adds the totals of the Python suite, which it writes itself: passed, failed and skipped in build/python/totals.
count_python_suite() {
  local passed=0 failed=1 skipped=0
  if [ -f build/python/totals ]; then read -r passed failed skipped <build/python/totals; fi
  passed_total=$((passed_total + passed))
  failed_total=$((failed_total + failed))
  skipped_total=$((skipped_total + skipped))
  summary+=("python: $passed passed, $failed failed, $skipped skipped")
}

run_python_suite() {
  local status=0
  setup python torch
  # Its tests of GPUs use the emulated one of the release build, where that is.
  if [ -f build/release/build.ninja ] && ! build release openaclnn_simt >build/simt-build.log; then
    summary+=("python: building the emulated GPU FAILED; see build/simt-build.log")
    status=1
  fi
  rm -f build/python/totals
  python3 tools/python_suite "$@" || status=$?
  count_python_suite
  return $status
}

# Starts the quick Python suite beside the C++ tests, which do not keep all cores busy. Its output goes to build/python-quick.log. The process
# group ends with this script, because background jobs of scripts ignore Ctrl-C.
start_quick_python_suite() {
  rm -f build/python/totals
  say "testing the wheel beside it; output follows"
  setsid python3 tools/python_suite --quick >build/python-quick.log 2>&1 &
  python_suite=$!
  trap 'kill -- -$python_suite 2>/dev/null || true' EXIT
}

finish_quick_python_suite() {
  local status=0
  wait "$python_suite" || status=$?
  trap - EXIT
  cat build/python-quick.log
  count_python_suite
  return $status
}

print_summary() {
  printf '\n'
  local line
  for line in "${summary[@]}"; do say "$line"; done
  say "$passed_total passed, $failed_total failed, $skipped_total skipped"
}

# Prints the room of an operator: room_named embedding, or room_named EmbeddingDenseBackward. Prints nothing if there is none.
room_named() {
  local room
  # shellcheck disable=SC2001
  room=$(sed 's/\([a-z0-9]\)\([A-Z]\)/\1_\2/g' <<<"$1" | tr '[:upper:]' '[:lower:]')
  if grep -q "^OPENACLNN_OPERATOR($room," src/ops/ops.def; then printf '%s' "$room"; fi
}

# Builds the tests of one preset: build_tests PRESET TARGET...
build_tests() {
  local preset=$1 start=$SECONDS
  shift
  setup_for "$preset"
  say "building $preset in build/$preset"
  local beside='' # programs that the target "all" leaves out
  case $preset$# in
    cuda*) beside=ptx_tests ;; # the tests that need no GPU; ./dev gpu runs the rest
    release0) beside=bench_programs ;;
  esac
  if ! build "$preset" "$@" || { [ -n "$beside" ] && ! build "$preset" "$beside"; }; then
    summary+=("$preset: the build FAILED")
    return 1
  fi
  say "built $preset in $((SECONDS - start)) s"
}

# Builds one preset and runs its tests: test_preset PRESET TARGET... -- CTEST_ARGUMENT...
test_preset() {
  local preset=$1 targets=() start=$SECONDS status=0
  shift
  while [ "$1" != -- ]; do targets+=("$1") && shift; done
  shift
  if [ "$preset" = python ]; then
    run_python_suite "$@" || status=1
  else
    build_tests "$preset" ${targets[@]+"${targets[@]}"} || return 1
    start=$SECONDS
    run_ctest "$preset" "$@" || status=1
  fi
  say "tested $preset in $((SECONDS - start)) s"
  return $status
}

# What a new user's test command runs: test_quickly true; with false it leaves the Python suite out.
test_quickly() {
  local with_python=$1 start status=0
  # A caller that takes the status turns errexit off here, so each step's status is taken.
  if ! verb_lint; then
    summary+=("lint: not clean; its messages are above the builds")
    status=1
  fi
  local emulated=()
  if $with_python; then
    setup python
    # The Python tests use the emulated GPU of an earlier build, which must be of this tree.
    if [ -f build/release/lib/libopenaclnn_simt.so ]; then emulated=(openaclnn_simt); fi
  fi
  build_tests release quick_tests ${emulated[@]+"${emulated[@]}"} || return 1
  start=$SECONDS
  if $with_python; then start_quick_python_suite; fi
  run_ctest release -LE "$not_quick" || status=1
  if $with_python; then finish_quick_python_suite || status=1; fi
  say "tested in $((SECONDS - start)) s"
  return $status
}

# Labels of tests that the new user's test command leaves out.
not_quick='^(slow|cuda|bench)$'

kinds='abi runtime ops cuda numeric lifetime demo bench install cli docs ptx slow'

verb_test() {
  local presets=() parts=quick only='' room='' argument preset status=0 targets=() filter=() minutes=''
  for argument in "$@"; do
    case $argument in
      --all) parts='quick rest' ;;
      --rest) parts=rest ;;
      --only=?*) only=${argument#--only=} ;;
      --minutes=*)
        minutes=${argument#--minutes=}
        [[ $minutes =~ ^(0|-?[1-9][0-9]{0,5})$ ]] || fail 2 "--minutes is '$minutes'; accepted is a whole number"
        ;;
      -*) fail 2 "unknown option '$argument' of test; accepted: --all, --rest, --only=NAME and --minutes=N" ;;
      *) presets+=("$argument") ;;
    esac
  done
  if [ "$parts" != quick ] && [ ${#presets[@]} -gt 0 ]; then fail 2 "--all and --rest select the presets themselves; remove ${presets[*]}"; fi
  if [ -n "$minutes" ] && [[ $parts != *rest ]]; then fail 2 "--minutes is given without --all or --rest, which it limits"; fi
  setup
  for preset in ${presets[@]+"${presets[@]}"}; do [ "$preset" = python ] || require_preset "$preset"; done
  passed_total=0 failed_total=0 skipped_total=0 summary=()
  if [ -n "$only" ]; then
    room=$(room_named "$only")
    filter=(-L "^$only\$")
    if [ -n "$room" ]; then
      filter=(-R "^${room}_(internals_)?test\$")
      targets=("${room}_tests")
    elif [[ " $kinds " != *" $only "* && " ${presets[*]-} " != *' python '* ]]; then
      fail 2 "--only is '$only'; accepted are a kind of tests ($kinds) or an operator ($(sed -n 's/^OPENACLNN_OPERATOR(\([a-z_0-9]*\),.*/\1/p' src/ops/ops.def | paste -sd ' '))"
    fi
    for preset in "${presets[@]:-release}"; do
      if [ "$preset" = python ]; then filter=("--only=$only"); fi
      test_preset "$preset" ${targets[@]+"${targets[@]}"} -- "${filter[@]}" || status=1
    done
  elif [ ${#presets[@]} -gt 0 ]; then
    for preset in "${presets[@]}"; do test_preset "$preset" -- || status=1; done
  else
    case $parts in
      quick) test_quickly true || status=1 ;;
      quick*) test_quickly false || status=1 ;; # the rest has the whole Python suite
    esac
    if [[ $parts == *rest ]]; then
      test_preset release -- -L "$not_quick" || status=1
      for preset in asan python cuda tsan; do
        # CI is stopped after a fixed time, and builds without a compiler cache may need more.
        if [ -n "$minutes" ] && [ "$SECONDS" -ge $((minutes * 60)) ]; then
          summary+=("$preset: not run, because the $minutes minutes of --minutes were over")
        elif [ "$preset" = cuda ]; then
          compile_cuda || status=1
        elif [ "$preset$parts" = pythonrest ]; then
          test_preset python -- --rest || status=1
        else
          test_preset "$preset" -- || status=1
        fi
      done
    fi
  fi
  print_summary
  return $status
}

# The plugin for real GPUs: register spills and warnings are errors, so compiling it is a useful test even without a GPU.
compile_cuda() {
  if ! command -v nvcc >/dev/null; then
    summary+=("cuda: not compiled, because nvcc isn't installed")
    return 0
  fi
  say "compiling the CUDA plugin in build/cuda"
  if build cuda openaclnn_cuda; then
    summary+=("cuda: the plugin compiles without spills and warnings")
  else
    summary+=("cuda: compiling the plugin FAILED")
    return 1
  fi
  say "running the kernels' PTX without a GPU"
  if ! build cuda ptx_tests; then
    summary+=("cuda: building the tests of its PTX FAILED")
    return 1
  fi
  run_ctest cuda
}
