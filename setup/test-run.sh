# Runs the chosen tests, on this machine and in the variants of test-variants.sh, for command-test.sh.

# Timeout of a test, so that a test that hangs fails and the run continues.
test_seconds=900

# A run has three phases, after tests that need the machine for themselves:
#   1. Tests that measure durations or the machine's memory, one file at a time. Tests without boxes use the time that is
#      left (SCHED_IDLE: a box is scheduled with its cgroup, so the priority of its processes would have no effect).
#   2. Tests that have deadlines or check the machine, three files at a time, alongside tests of set-up and of the dashboard.
#   3. Tests with whole services and their boxes, alongside a variant. One adds a network interface to the machine, which
#      aborts requests of a browser, so it must not run in the second phase.
# The files of a list run in their place below; all others in the second phase.
exclusive='system/bounds/event-loop.test.ts system/bounds/neighbours'
measuring='system/bounds/answers system/bounds/compile-steps system/bounds/connections system/bounds/event-loop-disk system/bounds/judge0-batch system/bounds/keys
  system/bounds/left-behind system/bounds/objects system/bounds/queue system/bounds/refused
  system/bounds/times system/bounds/webhooks'
services='integration/cli/bench integration/cli/doctor integration/cli/logs integration/cli/run integration/metrics/
  integration/tracing/ system/deploy/ system/faults/away system/faults/hanging system/faults/live-backup
  system/faults/nothing-lost system/faults/upgrade system/worker/cut-off'
background='unit/ integration/'
sharing='system/dashboard/ system/kernel/ system/launcher/analysis system/launcher/fuzz system/setup/'
# Files that take long start first, in this order, so that others fill the time alongside their ends.
long='system/faults/nothing-lost system/faults/live-backup system/faults/upgrade system/faults/hanging system/worker/cut-off
  system/faults/away system/setup/test-command system/dashboard/pages system/dashboard/submissions system/dashboard/choices
  system/dashboard/real system/setup/survivors system/dashboard/playground system/setup/serve system/launcher/fuzz
  system/matrix/ system/attacks/ system/worker/ system/faults/storm system/falsify/teardown system/launcher/arm64
  system/packs/ system/engine/languages system/engine/output system/launcher/life integration/cli/ integration/webhooks/
  integration/store/plans'

# The packs of the plain run, which are built in a minute: from Debian and from npm, without a layer, with a shared layer, with
# compat.c; compiled, interpreted, with threads.
some_packs='bash,cclang,coffeescript,cpp23,cppclang,erlang,lua,pascal,php,ruby,sql'

# choose_test_packs: before the tests are chosen, because set-up builds their image. A word that is in no path selects by titles.
choose_test_packs() {
  test_packs='' packs_image='' packs_left_out=
  [ -d "$app/test/system/packs" ] || return 0
  { (cd "$app" && find test/system/packs -name '*.test.ts') && cat "$app"/test/system/packs/* &&
    if [ "${ASSAY_TEST_LONG-}" = yes ] || [ $test_mode = full ]; then echo test/system/bounds/neighbours.test.ts; fi; } |
    grep -qF -e "$word" || return 0
  [ $test_mode != on ] || return 0
  test_packs=$some_packs
  if [ $test_mode = full ]; then test_packs=all; fi
  test_packs=$(packs_ts names "$test_packs")
  [ $test_mode = full ] || packs_left_out="test/system/packs/ had the language packs $test_packs, of $(packs_ts names all | tr , '\n' | wc -l)"
  image_alone=$image
  add_packs "$test_packs"
  packs_image=$image image=$image_alone
}

# choose_tests: writes these lists and chosen (all others).
choose_tests() {
  find test -name '*.test.ts' | sort >"$instance_dir/all"
  pattern=
  for list in exclusive measuring services background sharing; do : >"$instance_dir/$list"; done
  if ! grep -F -e "$word" "$instance_dir/all" >"$instance_dir/chosen"; then
    # Escaped, because Node expects a regular expression. Only files with the word are loaded, unless there are none:
    # titles can be composed.
    pattern=$(printf '%s' "$word" | sed 's/[][\.*^$+?(){}|/]/\\&/g')
    xargs grep -lF -e "$word" <"$instance_dir/all" >"$instance_dir/chosen" || cp "$instance_dir/all" "$instance_dir/chosen"
    return
  fi
  take_chosen exclusive "$exclusive"
  take_chosen measuring "$measuring"
  take_chosen services "$services"
  take_chosen background "$background"
  take_chosen sharing "$sharing"
  for list in measuring services background sharing chosen; do long_first "$list"; done
}

# take_chosen LIST PARTS: moves the chosen files whose paths begin with one of PARTS to LIST.
take_chosen() {
  for part in $2; do echo "^test/$part"; done >"$instance_dir/parts"
  grep -f "$instance_dir/parts" "$instance_dir/chosen" >"$instance_dir/$1" || true
  grep -vf "$instance_dir/parts" "$instance_dir/chosen" >"$instance_dir/rest" || true
  mv "$instance_dir/rest" "$instance_dir/chosen"
}

# long_first LIST
long_first() {
  { for part in $long; do grep "^test/$part" "$instance_dir/$1" || true; done && cat "$instance_dir/$1"; } |
    awk '!printed[$0]++' >"$instance_dir/rest"
  mv "$instance_dir/rest" "$instance_dir/$1"
}

# node_test RUNNER CHOSEN TAP [COUNT [PRIORITY]]: runs the test files listed in CHOSEN, COUNT at once, by the command
# PRIORITY, and writes the results to TAP.
node_test() {
  test_runner=$1 tap=$3 at_once=${4-1} priority=${5-nice -n 0}
  # File names of the checkout have no blanks.
  # shellcheck disable=SC2046
  set -- $(cat "$2")
  # Files that run concurrently share a PostgreSQL server and more, which would take each two seconds of the processor.
  if [ "$at_once" -gt 1 ] && [ $# -gt 2 ]; then set -- --setup ./test/support/store/shared.ts "$@"; fi
  [ -z "$pattern" ] || set -- --name "$pattern" "$@"
  # Directories of this run, because the set-up of another command sweeps those of the data directory. The compile cache
  # saves the hundreds of later processes a tenth of the time. Only root may write there.
  # shellcheck disable=SC2086 # a command with its options
  clean_env "$test_runner" "$test_names" PATH="$(dirname "$node"):$PATH" TMPDIR="$instance_dir/tmp" \
    NODE_COMPILE_CACHE="$instance_dir/cache" $priority "$node" test/run.ts --concurrency "$at_once" \
    --timeout $((test_seconds * 1000 * ASSAY_TEST_PATIENCE)) --tap "$tap" "$@"
}

# some_test TAP: whether a test ran. Node counts a file without matching names as a passed test.
some_test() {
  grep -sE '^ *ok [0-9]+ - ' "$1" | grep -qvE -e ' - test/.*\.test\.ts$| # SKIP'
}

# of NAME VARIABLE: prints a variable of the variant.
of() (
  use_machine
  "use_$1"
  eval "printf '%s' \"\$$2\""
)

# choose_for NAME: writes the chosen files of the variant's suites to a separate list; fails if there are none.
choose_for() {
  for list in exclusive measuring services background sharing chosen; do cat "$instance_dir/$list"; done >"$instance_dir/any"
  for suite in $(of "$1" suites); do grep "^$suite" "$instance_dir/any" || true; done >"$instance_dir/chosen-$1"
  [ -s "$instance_dir/chosen-$1" ]
}

# become_variant NAME: called in a separate process, which becomes the runner of the tests.
become_variant() {
  use_machine
  "use_$1"
  variant_dir=$instance_dir/$1
  mkdir "$variant_dir"
  ASSAY_TEST_PATIENCE=$patience ASSAY_TEST_TIMES=
  [ -n "$kernel" ] || node_test exec "$instance_dir/chosen-$1" "$variant_dir/tap"
  "$node" test/system/kernel/patient-languages.ts languages "$variant_dir/languages" "$patience" || exit
  # Its console is always a terminal.
  [ -t 1 ] || NO_COLOR=1
  (node_test write_command "$instance_dir/chosen-$1" "$variant_dir/tap") || exit
  exec setpriv --pdeathsig TERM "$kernel" "$machine" "$variant_dir" "$app" "$seconds"
}

# With its environment, as arguments of env.
write_command() { { env -0 && printf '%s\0' "$@"; } >"$variant_dir/command"; }

wait_for() {
  # This shell ignores signals between two runs; the started process must not.
  (trap - TERM HUP INT && "$@") </dev/null &
  node_pid=$!
  finish_node
}

# run_list LIST AT_ONCE
run_list() {
  if [ ! -s "$instance_dir/$1" ] || [ $interruptions -gt 0 ]; then return; fi
  wait_for node_test exec "$instance_dir/$1" "$instance_dir/tap-$1" "$2"
  judge_list "$1"
}

judge_list() {
  none=${word:+: no file or test name contains $word}
  judge "$instance_dir/tap-$1" "${none:- from the list $1}"
}

# start_alongside LIST PRIORITY: runs the files of the list in the background, with their output in a file.
start_alongside() {
  if [ ! -s "$instance_dir/$1" ] || [ $interruptions -gt 0 ]; then return; fi
  (trap - TERM HUP INT && node_test exec "$instance_dir/$1" "$instance_dir/tap-$1" $(($(nproc) * 2)) "$2") \
    </dev/null >"$instance_dir/$1.words" 2>&1 &
  sharing_pid=$!
}

finish_alongside() {
  [ -n "$sharing_pid" ] || return 0
  node_pid=$sharing_pid sharing_pid=
  finish_node
  cat "$instance_dir/$1.words"
  judge_list "$1"
}

# run_variants CPUS: in a full run, runs the variants that have not run; CPUS is `one`, for those that use one CPU, or `all`.
# Variants of failed tests show nothing new.
run_variants() {
  [ $test_mode = full ] || return 0
  for variant in $variants; do
    if [ "$variant" = "$beside" ] || [ $status -ne 0 ] || [ $interruptions -gt 0 ]; then continue; fi
    case " $ran " in *" $variant "*) continue ;; esac
    if [ "$1" = all ] || [ "$(of "$variant" one_cpu)" = yes ]; then run_variant "$variant"; fi
  done
}

# run_variant NAME
run_variant() {
  ran="$ran $1"
  say "running again: $(of "$1" about)"
  wait_for become_variant "$1"
  judge_variant "$1"
}

# long_checks: checks the launcher with a compiler that only `full` installs.
long_checks() {
  for long in "launcher/analyse clang" "launcher/fuzz/run 60"; do
    say "running: $long"
    # shellcheck disable=SC2086 # a command and its arguments
    wait_for $long
    [ "$node_status" -eq 0 ] || status=1
  done
}

# start_beside NAME: runs the variant in the background, with its output in a file. Not with lower priority (nice): user-mode
# Linux charges its programs for the time that the host uses.
start_beside() {
  if [ $interruptions -gt 0 ]; then return; fi
  say "alongside the tests: $(of "$1" about)"
  (trap - TERM HUP INT && become_variant "$1") </dev/null >"$instance_dir/$1.words" 2>&1 &
  beside_pid=$!
}

# finish_beside NAME
finish_beside() {
  [ -n "$beside_pid" ] || return 0
  say "waiting for the run alongside the tests: $(of "$1" about)"
  node_pid=$beside_pid beside_pid=
  finish_node
  cat "$instance_dir/$1.words"
  judge_variant "$1"
}

judge_variant() {
  judge "$instance_dir/$1/tap" " as the variant $1"
  [ "$node_status" -eq 0 ] || failed_variants="$failed_variants $1"
}

# repeat_failed: after a failed run, repeats the failed files with the machine to themselves. If they pass, the run
# is green, but its last lines name them, because each has a defect, or its subject has. Many failures are not repeated.
repeat_failed() {
  if [ $status -ne 1 ] || [ $empty = yes ] || [ $interruptions -gt 0 ] || [ -n "$word" ]; then return; fi
  # A file without a line has crashed.
  awk -F '\t' 'FILENAME == ARGV[1] { if ($4 == 0) passed[$3]; next } !($1 in passed)' \
    "$ASSAY_TEST_TIMES" "$instance_dir/all" >"$instance_dir/repeated"
  failed_count=$(wc -l <"$instance_dir/repeated")
  if [ "$failed_count" -gt 8 ] || [ -z "$failed_variants$(cat "$instance_dir/repeated")" ]; then return; fi
  status=0 repeated=yes
  if [ "$failed_count" -gt 0 ]; then
    say "repeating: $(xargs <"$instance_dir/repeated")"
    wait_for node_test exec "$instance_dir/repeated" "$instance_dir/tap-repeated"
    judge "$instance_dir/tap-repeated" " again"
  fi
  again=$failed_variants failed_variants=
  for variant in $again; do
    mv "$instance_dir/$variant" "$instance_dir/$variant.first"
    taps=$(printf '%s' "$taps" | sed "s,/$variant/tap,/$variant.first/tap,")
    run_variant "$variant"
  done
}

# judge TAP MESSAGE: judges the run that ended with $node_status; sets $status if it failed.
judge() {
  taps="$taps $1"
  if [ "$node_status" -eq 0 ] && ! some_test "$1"; then
    say "no test was run$2"
    node_status=1 empty=yes
  fi
  case $node_status in
  0) ;;
  130 | 143) status=$node_status ;;
  *) status=1 ;;
  esac
}

# total TAP...: prints their summaries as one. The duration is measured, because the runs overlap.
total() {
  clock
  for tap in "$@"; do tail -n 8 "$tap" || true; done | awk -v ms=$(((now - tests_start) * 10)) '
    $1 == "#" && NF == 3 { if (!($2 in sum)) names[++count] = $2; sum[$2] += $3 }
    END { sum["duration_ms"] = ms; for (i = 1; i <= count; i++) print "\342\204\271 " names[i] " " sum[names[i]] }'
}

# failed_tests TAP...: prints the place and title of each test that failed by itself, not by a subtest, once, and below it the first
# lines of its error: of an output that was cut, the end remains.
failed_tests() {
  awk '
    function tell() {
      title = (place != "" ? place ": " : "") title
      if (failed && !parent && !told[title]++) print "    " title message
      failed = in_error = 0
    }
    /^ *(not )?ok [0-9]+ - / {
      if (failed) tell()
      failed = $1 == "not"
      title = $0; sub(/^ *not ok [0-9]+ - /, "", title)
      place = message = ""; parent = lines = 0
      next
    }
    !failed { next }
    /^ *location: / { place = $0; sub(/^[^\047]*\047/, "", place); sub(/:[0-9]+\047$/, "", place); sub(/^.*\/test\//, "test/", place) }
    /^ *failureType: .subtestsFailed./ { parent = 1 }
    /^ *error: / { in_error = 1; match($0, /^ */); depth = RLENGTH; sub(/error: (\|-$)?/, "") }
    in_error {
      match($0, /^ */)
      if (/[^ ]/ && RLENGTH <= depth && lines > 0) in_error = 0
      else if (/[^ ]/ && lines++ < 20) message = message "\n        " substr($0, depth + 1, 160)
    }
    END { if (failed) tell() }' "$@" 2>/dev/null || true # an interrupted run has none
}
