# Runs the tests that are chosen, on the machine as it is and as the variants of test-variants.sh, for command-test.sh.

# A test that has not ended by then hangs: this run should say so, and go on, rather than wait for ever.
test_seconds=900

# Tests that mind nobody beside them: three times as many of their files run at once as there are cores, because most of their time
# they wait. All others look at the whole machine, or at how long something takes, and have it for themselves, beside one other
# kernel at most.
sharing='admin/ cli/ dashboard/ deploy/ domain/ faults/away faults/hanging faults/live-backup faults/nothing-lost faults/upgrade
  history/ http/ kernel/ languages/ launcher/analysis launcher/fuzz metrics/ repo/ retention/ setup/ store/ tracing/ verdict/ webhooks/'

# Tests that measure how long something takes: they run first, one file at a time, with no other kernel beside them.
quiet='bounds/answers bounds/connections bounds/event-loop bounds/keys bounds/left-behind bounds/neighbours bounds/queue
  bounds/times bounds/webhooks'

choose_tests() {
  find test -name '*.test.ts' | sort >"$instance_dir/chosen"
  pattern=
  : >"$instance_dir/sharing"
  : >"$instance_dir/quiet"
  if [ -z "$word" ]; then
    mv "$instance_dir/chosen" "$instance_dir/all"
    for part in $sharing; do echo "^test/$part"; done >"$instance_dir/parts"
    grep -f "$instance_dir/parts" "$instance_dir/all" >"$instance_dir/sharing" || true
    grep -vf "$instance_dir/parts" "$instance_dir/all" >"$instance_dir/chosen" || true
    for part in $quiet; do echo "^test/$part"; done >"$instance_dir/parts"
    grep -f "$instance_dir/parts" "$instance_dir/chosen" >"$instance_dir/quiet" || true
    grep -vf "$instance_dir/quiet" "$instance_dir/chosen" >"$instance_dir/rest" || true
    mv "$instance_dir/rest" "$instance_dir/chosen"
    return
  fi
  cp "$instance_dir/chosen" "$instance_dir/all"
  grep -F -e "$word" "$instance_dir/all" >"$instance_dir/chosen" && return
  # As plain characters, in the regular expression that Node wants. Files that don't hold the word need not be loaded,
  # unless none does: titles can be composed.
  pattern=$(printf '%s' "$word" | sed 's/[][\.*^$+?(){}|/]/\\&/g')
  xargs grep -lF -e "$word" <"$instance_dir/all" >"$instance_dir/chosen" || cp "$instance_dir/all" "$instance_dir/chosen"
}

# node_test RUNNER CHOSEN TAP [COUNT]: the tests of the files that CHOSEN lists, COUNT files at once, and what became of them in TAP.
node_test() {
  test_runner=$1 tap=$3 at_once=${4-1}
  # File names of the checkout: no blanks in them.
  # shellcheck disable=SC2046
  set -- $(cat "$2")
  [ -z "$pattern" ] || set -- --test-name-pattern="$pattern" "$@"
  # Of this run alone: another command's set-up sweeps the data directory's own. What Node compiles for one test file, the
  # hundreds of processes after it need not: a tenth of the time. Nobody but root may write there.
  clean_env "$test_runner" "$test_names" PATH="$(dirname "$node"):$PATH" TMPDIR="$instance_dir/tmp" \
    NODE_COMPILE_CACHE="$instance_dir/cache" "$node" --test --import ./test/ends.ts --test-concurrency="$at_once" \
    --test-timeout=$((test_seconds * 1000 * ASSAY_TEST_PATIENCE)) \
    --test-reporter=spec --test-reporter-destination=stdout \
    --test-reporter=tap --test-reporter-destination="$tap" "$@"
}

# some_test TAP: Node counts a file in which no name matched as a test that passed.
some_test() {
  grep -sE '^ *ok [0-9]+ - ' "$1" | grep -qvE -e ' - test/.*\.test\.ts$| # SKIP'
}

# of NAME VARIABLE: what the variant sets.
of() (
  use_machine
  "use_$1"
  eval "printf '%s' \"\$$2\""
)

# choose_for NAME: the chosen files of its suites, in a file of their own; fails if there are none.
choose_for() {
  for suite in $(of "$1" suites); do grep "^$suite" "$instance_dir/chosen" || true; done >"$instance_dir/chosen-$1"
  [ -s "$instance_dir/chosen-$1" ]
}

# become_variant NAME: for a process of its own, which becomes what runs the tests.
become_variant() {
  use_machine
  "use_$1"
  variant_dir=$instance_dir/$1
  mkdir "$variant_dir"
  ASSAY_TEST_PATIENCE=$patience ASSAY_TEST_TIMES=
  [ -n "$kernel" ] || node_test exec "$instance_dir/chosen-$1" "$variant_dir/tap"
  "$node" test/kernel/patient-languages.ts languages "$variant_dir/languages" "$patience" || exit
  # Its console is a terminal, whatever ours is.
  [ -t 1 ] || NO_COLOR=1
  (node_test write_command "$instance_dir/chosen-$1" "$variant_dir/tap") || exit
  exec setpriv --pdeathsig TERM "$kernel" "$machine" "$variant_dir" "$app" "$seconds"
}

# With its environment, as env takes it.
write_command() { { env -0 && printf '%s\0' "$@"; } >"$variant_dir/command"; }

wait_for() {
  # We hear no signal between two of these; what is started must hear them.
  (trap - TERM HUP INT && "$@") </dev/null &
  node_pid=$!
  finish_node
}

# run_quiet: those that measure.
run_quiet() {
  [ -s "$instance_dir/quiet" ] || return 0
  wait_for node_test exec "$instance_dir/quiet" "$instance_dir/tap-quiet"
  judge "$instance_dir/tap-quiet" " of those that measure"
}

# run_machine: every chosen file that has the machine for itself.
run_machine() {
  [ $interruptions -eq 0 ] || return 0
  wait_for node_test exec "$instance_dir/chosen" "$instance_dir/tap"
  judge "$instance_dir/tap" "${word:+: none has $word in its file or name}"
}

# run_sharing: the others.
run_sharing() {
  if [ ! -s "$instance_dir/sharing" ] || [ $interruptions -gt 0 ]; then return; fi
  wait_for node_test exec "$instance_dir/sharing" "$instance_dir/tap-sharing" $(($(nproc) * 3))
  judge "$instance_dir/tap-sharing" " of those that share the machine"
}

# run_variant NAME
run_variant() {
  say "once more: $(of "$1" about)"
  wait_for become_variant "$1"
  judge "$instance_dir/$1/tap" " as the variant $1"
}

# long_checks: of the launcher, with a compiler that only `full` installs.
long_checks() {
  for long in "launcher/analyse clang" "launcher/fuzz/run 60"; do
    say "once more: $long"
    # shellcheck disable=SC2086 # a command and its words
    wait_for $long
    [ "$node_status" -eq 0 ] || status=1
  done
}

# start_beside NAME: in the background, with its words in a file. It does not give way (nice): user-mode Linux counts the time
# that its host takes from it as its programs' own.
start_beside() {
  say "beside the tests: $(of "$1" about)"
  (trap - TERM HUP INT && become_variant "$1") </dev/null >"$instance_dir/$1.words" 2>&1 &
  beside_pid=$!
}

# finish_beside NAME
finish_beside() {
  say "now the end of what ran beside the tests: $(of "$1" about)"
  node_pid=$beside_pid beside_pid=
  finish_node
  cat "$instance_dir/$1.words"
  judge "$instance_dir/$1/tap" " as the variant $1"
}

# judge TAP WORDS: of the run that ended with $node_status; sets $status if it was not good.
judge() {
  taps="$taps $1"
  if [ "$node_status" -eq 0 ] && ! some_test "$1"; then
    say "no test was run$2"
    node_status=1
  fi
  case $node_status in
  0) ;;
  130 | 143) status=$node_status ;;
  *) status=1 ;;
  esac
}

# total TAP...: their summaries as one. What took how long together, clocks tell.
total() {
  clock
  for tap in "$@"; do tail -n 8 "$tap" || true; done | awk -v ms=$(((now - tests_start) * 10)) '
    $1 == "#" && NF == 3 { if (!($2 in sum)) names[++count] = $2; sum[$2] += $3 }
    END { sum["duration_ms"] = ms; for (i = 1; i <= count; i++) print "\342\204\271 " names[i] " " sum[names[i]] }'
}

# failed_tests TAP...: the place and the title of each test that failed by itself, not by a test within it.
failed_tests() {
  awk '
    function tell() { if (title != "" && !parent) print "    " (place != "" ? place ": " : "") title; title = "" }
    /^ *not ok [0-9]+ - / { tell(); title = $0; sub(/^ *not ok [0-9]+ - /, "", title); place = ""; parent = 0; next }
    /^ *ok [0-9]+ - / { tell() }
    title != "" && /^ *location: / { place = $0; sub(/^[^\047]*\047/, "", place); sub(/:[0-9]+\047$/, "", place); sub(/^.*\/test\//, "test/", place) }
    title != "" && /^ *failureType: .subtestsFailed./ { parent = 1 }
    END { tell() }' "$@" 2>/dev/null || true # a run that was ended has none
}
