# assay test [full | on VARIANT] [WORD]: runs the checks and the tests, and then looks for leftovers. With a word: only the
# test files whose path contains it; if there are none, the tests whose name contains it.
#
# Without a word, part of a variant of the engine's suites (setup/test-variants.sh) runs concurrently in the background.
# full: also all variants of the chosen tests; faults, endurance and deployment at full length; and, without a word, clang's
# analysis and a minute of libFuzzer on each reader of the launcher. on VARIANT: only that variant.

for part in variants run leftovers; do . "$checkout/setup/test-$part.sh"; done

! is_release || fail "a release has no test tools: use assay doctor, or assay test in a checkout"
test_mode=plain
case ${1-} in
full)
  test_mode=full
  shift
  ;;
on)
  test_mode=on
  case " $variants " in *" ${2:-none} "*) ;; *) misuse "'assay test on' takes one of: $variants" ;; esac
  variants=$2
  shift 2
  ;;
esac
[ $# -le 1 ] || misuse "'assay test' takes at most one word"
word=${1-}
case $test_mode-$word in
plain-) variants=$beside ;;
plain-*) variants= ;;
esac

lacking= there=
for variant in $variants; do
  reason=$("lacks_$variant")
  if [ -z "$reason" ]; then
    there="${there:+$there }$variant"
  elif [ $test_mode = plain ]; then
    lacking="not tested: $(of "$variant" about), because $reason"
  else
    fail "this machine does not support the variant $variant: $reason"
  fi
done
variants=$there

prepare_engine
build_dashboard
build_launcher --sanitize
build_launcher --faults
choose_test_packs
find_postgres
find_arm64
find_promtool
for variant in $variants; do "prepare_$variant"; done
if [ $test_mode = full ]; then
  ASSAY_TEST_LONG=yes
  : "${ASSAY_TEST_KILLS:=100}" "${ASSAY_TEST_RUNS:=10000}"
  : "${ASSAY_TEST_SUBMISSIONS:=3000}" "${ASSAY_TEST_CUT_SECONDS:=90}"
fi
ASSAY_TEST_UML=
if [ "${ASSAY_TEST_LONG-}" = yes ]; then
  test_seconds=3600
  if [ "$(uname -m)" = x86_64 ]; then
    find_uml
    ASSAY_TEST_UML=$uml
  fi
fi
prepared test
take_uid_range
scratch=$instance_dir/data
mkdir -m 0755 "$scratch" "$instance_dir/cache" "$instance_dir/databases"
mkdir -m 1777 "$instance_dir/tmp"
chmod 0755 "$instance_dir"
# In memory, because tests create hundreds of databases of 300 files, for which ext4 takes 5 % of the CPU time of a run.
# Not tmpfs, because tests measure its memory.
mount -t ramfs -o mode=0755 assay-test "$instance_dir/databases" || fail "cannot mount a ramfs for the databases of the tests"
trap 'umount -l "$instance_dir/databases" || true; leave' EXIT

ASSAY_TEST_LAUNCHER=$launcher
ASSAY_TEST_LAUNCHER_ASAN=$launcher_asan
ASSAY_TEST_LAUNCHER_FAULTS=$launcher_faults
ASSAY_TEST_IMAGE=$image
ASSAY_TEST_PACKS=$test_packs
ASSAY_TEST_PACKS_IMAGE=$packs_image
ASSAY_TEST_DASHBOARD=$dashboard
ASSAY_TEST_DATA=$scratch
ASSAY_TEST_DATABASES=$instance_dir/databases
ASSAY_TEST_UID_BASE=$uid_base
ASSAY_TEST_INSTANCE=$instance
ASSAY_TEST_POSTGRES=$postgres
ASSAY_TEST_ARM64=$arm64
ASSAY_TEST_PROMTOOL=$promtool
ASSAY_TEST_PATIENCE=1
ASSAY_TEST_TIMES=$instance_dir/times # of this run alone: repeat_failed reads it
: >"$ASSAY_TEST_TIMES"
unset ASSAY_TEST_PROCESS_BYTES ASSAY_TEST_MATRIX ASSAY_TEST_MATRIX_WITHOUT ASSAY_TEST_COLD
test_names='TERM NO_COLOR CI ASSAY_TEST_LAUNCHER ASSAY_TEST_LAUNCHER_ASAN ASSAY_TEST_LAUNCHER_FAULTS
  ASSAY_TEST_IMAGE ASSAY_TEST_PACKS ASSAY_TEST_PACKS_IMAGE ASSAY_TEST_DASHBOARD ASSAY_TEST_DATA ASSAY_TEST_DATABASES ASSAY_TEST_UID_BASE ASSAY_TEST_INSTANCE ASSAY_TEST_POSTGRES ASSAY_TEST_ARM64
  ASSAY_TEST_PROMTOOL ASSAY_TEST_TIMES ASSAY_TEST_PATIENCE ASSAY_TEST_PROCESS_BYTES ASSAY_TEST_MATRIX ASSAY_TEST_MATRIX_WITHOUT ASSAY_TEST_COLD ASSAY_TEST_KILLS ASSAY_TEST_SEED
  ASSAY_TEST_RUNS ASSAY_TEST_SUBMISSIONS ASSAY_TEST_CUT_SECONDS ASSAY_TEST_LONG ASSAY_TEST_UML ASSAY_TEST_SCREENSHOTS
  ASSAY_TEST_NEIGHBOURS ASSAY_TEST_DATABASE'

machine_state >"$instance_dir/before"
cd "$app" || exit

check() {
  clean_env exec "TERM NO_COLOR" PATH="$(dirname "$node"):$PATH" "$node" test/check.ts
}

if [ -z "$word" ] && [ $test_mode != on ]; then
  wait_for check
  [ "$node_status" -eq 0 ] || fail "the checks failed; the tests were not run"
fi

choose_tests
wanted=$variants variants=
for variant in $wanted; do
  if choose_for "$variant"; then variants="$variants $variant"; fi
done
[ $test_mode != on ] || [ -n "$variants" ] || fail "no test was run: $word is in none of $engine_suites"

status=0 taps= ran= failed_variants= repeated=no empty=no
clock
tests_start=$now
case $test_mode in
on) run_variant "$wanted" ;;
plain | full)
  run_list exclusive 1
  start_alongside background "chrt --idle 0"
  run_list measuring 1
  finish_alongside background
  start_alongside sharing "nice -n 10"
  run_list chosen 3
  finish_alongside sharing
  case " $variants " in *" $beside "*) start_beside "$beside" ;; esac
  start_alongside services "nice -n 0"
  finish_alongside services
  run_variants one
  finish_beside "$beside"
  repeat_failed
  ;;
esac
if [ $test_mode = full ] && [ $status -eq 0 ]; then
  run_variants all
  repeat_failed
  if [ $status -eq 0 ] && [ $interruptions -eq 0 ] && [ -z "$word" ]; then long_checks; fi
fi
# A run without tests fails, for any reason.
[ -n "$taps" ] || fail "no test was run"
# shellcheck disable=SC2086 # our file names
set -- $taps
[ $# -eq 1 ] || total "$@"

if [ -z "$word" ]; then
  cp -- "$ASSAY_TEST_TIMES" "$data/log/test-times"
  say "slowest test files (wall time, CPU time; all of them in $data/log/test-times):"
  sort -rn "$ASSAY_TEST_TIMES" | awk -F '\t' 'NR <= 15 { printf "    %7.1f s %7.1f s  %s\n", $1, $2, $3 }' >&2
fi

# After the summary of the tests, only messages about failures.
# shellcheck disable=SC2086 # our file names
failed=$(failed_tests $taps)
if [ -n "$failed" ]; then
  if [ $status -eq 0 ] && [ $repeated = yes ]; then
    say "these tests failed, and passed when they were repeated:"
  else
    say "these tests failed:"
  fi
  printf '%s\n' "$failed" >&2
fi
left=$(leftovers)
if [ -n "$left" ]; then
  end_leftovers "$left"
  status=1
fi
[ -z "$lacking" ] || say "$lacking"
[ -z "$packs_left_out" ] || say "for 'assay test full packs': $packs_left_out"
for variant in $variants; do
  left_out=$(of "$variant" left_out)
  [ -z "$left_out" ] || say "for 'assay test full': $left_out, on $(of "$variant" about)"
done
exit "$status"
