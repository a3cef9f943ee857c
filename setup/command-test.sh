# assay test [full] [WORD]: the checks, then the tests, then a look whether anything was left behind. With a word: only the
# test files whose path has it; if there is none, the tests whose name has it.
#
# full: if they pass, the suites named below once more, of the same choice, on a kernel that has cgroup v2 alone.

full=no
if [ "${1-}" = full ]; then
  full=yes
  shift
fi
word=${1-}

# The suites that prove the engine on a kernel, and how many times longer than on the machine's own everything may take.
full_suites='test/matrix/'
full_patience=5
full_seconds=3600

# A test that has not ended by then hangs: this run should say so, and go on, rather than wait for ever.
test_seconds=900

# What tests may leave nothing of: control groups, which carry the name of the test run; mounts below the data directory;
# processes of our programs. Other instances of this data directory come and go meanwhile, and are told by their names.
machine_state() {
  {
    find /sys/fs/cgroup -maxdepth 12 -type d -name "assay-$instance*" -prune -printf 'control group %p\n'
    awk -v dir="$data/" 'index($5, dir) == 1 { print "mount " $5 }' /proc/self/mountinfo
    find /proc -mindepth 2 -maxdepth 2 -name exe -lname "$data/*" -printf '%h\n' | while read -r process; do
      echo "process ${process#/proc/} $(tr '\0' ' ' <"$process/cmdline") $(tr '\0' '\n' <"$process/environ" |
        sed -n 's/^ASSAY_TEST_INSTANCE=/of /p')"
    done
  } 2>/dev/null | grep -vF -e "$(other_instances)" | cut -c1-200 | sort
}

other_instances() {
  # grep would take an empty list for "everything".
  echo "no instance at all"
  for other in "$data"/run/*; do
    [ "$other" = "$instance_dir" ] || echo "${other##*/}"
  done
}

# leftovers: what is there now and was not before, after a moment for what is just ending.
leftovers() {
  tries=0
  while :; do
    machine_state >"$instance_dir/after"
    left=$(comm -13 "$instance_dir/before" "$instance_dir/after")
    if [ -z "$left" ] || [ $tries -ge 12 ]; then break; fi
    tries=$((tries + 1))
    sleep 0.25
  done
  printf '%s' "$left"
}

choose_tests() {
  find test -name '*.test.ts' | sort >"$instance_dir/chosen"
  pattern=
  [ -n "$word" ] || return 0
  cp "$instance_dir/chosen" "$instance_dir/all"
  grep -F -e "$word" "$instance_dir/all" >"$instance_dir/chosen" && return
  # As plain characters, in the regular expression that Node wants. Files that don't hold the word need not be loaded,
  # unless none does: titles can be composed.
  pattern=$(printf '%s' "$word" | sed 's/[][\.*^$+?(){}|/]/\\&/g')
  xargs grep -lF -e "$word" <"$instance_dir/all" >"$instance_dir/chosen" || cp "$instance_dir/all" "$instance_dir/chosen"
}

# node_test RUNNER CHOSEN TAP: the tests of the files that CHOSEN lists, and what became of them in TAP.
node_test() {
  test_runner=$1 tap=$3
  # File names of the checkout: no blanks in them.
  # shellcheck disable=SC2046
  set -- $(cat "$2")
  [ -z "$pattern" ] || set -- --test-name-pattern="$pattern" "$@"
  # Of this run alone: another command's set-up sweeps the data directory's own. What Node compiles for one test file, the
  # hundreds of processes after it need not: a tenth of the time. Nobody but root may write there.
  clean_env "$test_runner" "$test_names" PATH="$(dirname "$node"):$PATH" TMPDIR="$instance_dir/tmp" \
    NODE_COMPILE_CACHE="$instance_dir/cache" "$node" --test --import ./test/ends.ts \
    --test-timeout=$((test_seconds * 1000 * ASSAY_TEST_PATIENCE)) \
    --test-reporter=spec --test-reporter-destination=stdout \
    --test-reporter=tap --test-reporter-destination="$tap" "$@"
}

# some_test TAP: Node counts a file in which no name matched as a test that passed.
some_test() {
  grep -sE '^ *ok [0-9]+ - ' "$1" | grep -qvE -e ' - test/.*\.test\.ts$| # SKIP'
}

full_test() {
  uml_dir=$instance_dir/uml
  for suite in $full_suites; do grep "^$suite" "$instance_dir/chosen" || true; done >"$instance_dir/chosen-full"
  if [ ! -s "$instance_dir/chosen-full" ]; then
    say "no test was run in user-mode Linux: $word is in none of $full_suites"
    return 1
  fi
  mkdir "$uml_dir"
  "$node" test/kernel/patient-languages.ts languages "$uml_dir/languages" "$full_patience" || return
  (
    ASSAY_TEST_PATIENCE=$full_patience
    ASSAY_TEST_PROCESS_BYTES=$(($(cat /proc/sys/vm/max_map_count) * 4096))
    # Its console is a terminal, whatever ours is.
    [ -t 1 ] || NO_COLOR=1
    node_test write_command "$instance_dir/chosen-full" "$uml_dir/tap"
  ) || return
  say "the same on cgroup v2 alone, in user-mode Linux, which takes its time"
  wait_for test/kernel/uml "$uml" "$uml_dir" "$app" "$full_seconds"
  [ "$node_status" -eq 0 ] || return
  some_test "$uml_dir/tap" || {
    say "no test was run in user-mode Linux"
    return 1
  }
}

# With its environment, as env takes it.
write_command() { { env -0 && printf '%s\0' "$@"; } >"$uml_dir/command"; }

check() {
  clean_env exec "TERM NO_COLOR" PATH="$(dirname "$node"):$PATH" "$node" test/check.ts
}

wait_for() {
  # We hear no signal between two of these; what is started must hear them.
  (trap - TERM HUP INT && "$@") </dev/null &
  node_pid=$!
  finish_node
}

prepare_engine
build_launcher --sanitize
build_launcher --faults
find_postgres
find_arm64
[ $full = no ] || find_uml
prepared test
take_uid_range
scratch=$instance_dir/data
mkdir -m 0755 "$scratch"
mkdir -m 1777 "$instance_dir/tmp"
chmod 0755 "$instance_dir"
trap 'close_instance' EXIT

ASSAY_TEST_LAUNCHER=$launcher
ASSAY_TEST_LAUNCHER_ASAN=$launcher_asan
ASSAY_TEST_LAUNCHER_FAULTS=$launcher_faults
ASSAY_TEST_IMAGE=$image
ASSAY_TEST_DATA=$scratch
ASSAY_TEST_UID_BASE=$uid_base
ASSAY_TEST_INSTANCE=$instance
ASSAY_TEST_POSTGRES=$postgres
ASSAY_TEST_ARM64=$arm64
ASSAY_TEST_PATIENCE=1
unset ASSAY_TEST_PROCESS_BYTES
test_names='TERM NO_COLOR CI ASSAY_TEST_LAUNCHER ASSAY_TEST_LAUNCHER_ASAN ASSAY_TEST_LAUNCHER_FAULTS
  ASSAY_TEST_IMAGE ASSAY_TEST_DATA ASSAY_TEST_UID_BASE ASSAY_TEST_INSTANCE ASSAY_TEST_POSTGRES ASSAY_TEST_ARM64
  ASSAY_TEST_PATIENCE ASSAY_TEST_PROCESS_BYTES ASSAY_TEST_KILLS ASSAY_TEST_SEED ASSAY_TEST_RUNS'

machine_state >"$instance_dir/before"
cd "$app" || exit

if [ -z "$word" ]; then
  wait_for check
  [ "$node_status" -eq 0 ] || fail "the checks found something; the tests were not run"
fi

choose_tests
wait_for node_test exec "$instance_dir/chosen" "$instance_dir/tap"
status=$node_status
# Of what fails here already there is nothing more to learn; and an interrupt ends all of it.
if [ $full = yes ] && [ "$status" -eq 0 ]; then full_test || status=1; fi

# After the summary of the tests, only words about what is wrong.
left=$(leftovers)
if [ -n "$left" ]; then
  say "the tests left behind:"
  printf '%s\n' "$left" | sed 's/^/    /' >&2
  # Interrupted tests can't end what they started: what names this run is ours to end.
  printf '%s\n' "$left" | sed -n 's/^process \([0-9]*\) .*/\1/p' | while read -r process; do
    grep -qsF -e "$instance" "/proc/$process/cmdline" && kill -KILL "$process" 2>/dev/null
  done || true
  status=1
fi
if [ "$status" -eq 0 ] && ! some_test "$instance_dir/tap"; then
  say "no test was run${word:+: none has $word in its file or name}"
  status=1
fi
exit "$status"
