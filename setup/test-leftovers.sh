# Whether a run of the tests left anything behind, for command-test.sh. A file of instance_dir has what was there before.

# What tests may leave nothing of: control groups, which carry the name of the test run; mounts below the data directory;
# processes of our programs. Other instances of this data directory come and go meanwhile, and are told by their names.
machine_state() {
  {
    find /sys/fs/cgroup -maxdepth 12 -type d -name "assay-$instance*" -prune -printf 'control group %p\n'
    awk -v dir="$data/" 'index($5, dir) == 1 { print "mount " $5 }' /proc/self/mountinfo
    find /proc -mindepth 2 -maxdepth 2 -name exe -lname "$data/*" -printf '%h %l\n' | while read -r process program; do
      echo "process ${process#/proc/} $program $(tr '\0' ' ' <"$process/cmdline") $(tr '\0' '\n' <"$process/environ" |
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

# end_leftovers WHAT: says what is left. Interrupted tests can't end what they started: what names this run is ours to end.
end_leftovers() {
  say "the tests left behind:"
  printf '%s\n' "$1" | sed 's/^/    /' >&2
  printf '%s\n' "$1" | sed -n 's/^process \([0-9]*\) .*/\1/p' | while read -r process; do
    grep -qsF -e "$instance" "/proc/$process/cmdline" && kill -KILL "$process" 2>/dev/null
  done || true
}
