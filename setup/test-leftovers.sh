# Detects leftovers of a test run, for command-test.sh. A file in $instance_dir has the state before the run.

# machine_state: lists control groups with the name of the test run, mounts below the data directory, and processes of our
# programs, of which tests may leave none. Excluded are other instances of this data directory, by name, and the mount for the
# databases of this run.
machine_state() {
  {
    find /sys/fs/cgroup -maxdepth 12 -type d -name "assay-$instance*" -prune -printf 'control group %p\n'
    awk -v dir="$data/" -v own="$instance_dir/databases" 'index($5, dir) == 1 && $5 != own { print "mount " $5 }' /proc/self/mountinfo
    find /proc -mindepth 2 -maxdepth 2 -name exe -lname "$data/*" -printf '%h %l\n' | while read -r process program; do
      echo "process ${process#/proc/} $program $(tr '\0' ' ' <"$process/cmdline") $(tr '\0' '\n' <"$process/environ" |
        sed -n 's/^ASSAY_TEST_INSTANCE=/of /p')"
    done
  } 2>/dev/null | grep -vF -e "$(other_instances)" | cut -c1-200 | sort
}

other_instances() {
  # For grep, an empty list would match everything.
  echo "no instance at all"
  for other in "$data"/run/*; do
    [ "$other" = "$instance_dir" ] || echo "${other##*/}"
  done
}

# leftovers: prints what is new since before the run. Ending processes get some time.
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

# end_leftovers LIST: prints the list and kills processes that name this run, because interrupted tests cannot end theirs.
end_leftovers() {
  say "the tests left behind:"
  printf '%s\n' "$1" | sed 's/^/    /' >&2
  printf '%s\n' "$1" | sed -n 's/^process \([0-9]*\) .*/\1/p' | while read -r process; do
    grep -qsF -e "$instance" "/proc/$process/cmdline" && kill -KILL "$process" 2>/dev/null
  done || true
}
