#!/bin/sh
# enclosed.sh PROGRAM ARGUMENTS...: runs a program that is measured next to Assay, with one more argument, the name of a control group
# for everything that it starts. Requires root.
#
# Such programs create control groups at the root of each hierarchy, so the group of this script is mounted there, in a mount namespace
# of its own. What they mount, and the shared memory of their locks, ends with this namespace.
set -eu
[ -n "${ENCLOSED-}" ] || ENCLOSED=1 exec unshare --mount --propagation private "$0" "$@"

group=assay-peer-$$
while IFS=: read -r _ controllers own; do
  tree=/sys/fs/cgroup/$controllers
  if [ -n "$controllers" ] && [ -d "$tree" ] && [ "$own" != / ]; then mount --bind "$tree$own" "$tree"; fi
done </proc/self/cgroup
mount -t tmpfs -o mode=1777 peer /dev/shm
# Removes the groups of this run, and those of earlier runs that were killed.
sweep() {
  for made in /sys/fs/cgroup/assay-peer-* /sys/fs/cgroup/*/assay-peer-*; do
    if [ -d "$made" ] && { [ "${made##*/}" = "$group" ] || [ ! -d "/proc/${made##*-}" ]; }; then
      find "$made" -depth -type d -exec rmdir {} + || true
    fi
  done
}
sweep
trap 'kill "$peer" 2>/dev/null' TERM
"$@" "$group" &
peer=$!
# A signal ends a wait before the program has ended.
while :; do
  status=0
  wait "$peer" || status=$?
  kill -0 "$peer" 2>/dev/null || break
done
sweep
exit "$status"
