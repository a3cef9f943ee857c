#!/bin/sh
# go-judge.sh PROGRAM CONFIGURATION PORT: runs go-judge with its default settings and the mounts of the configuration. Requires
# root. go-judge creates its control groups at the root of each hierarchy, so the group of this script is mounted there.
set -eu
[ -n "${ENCLOSED-}" ] || ENCLOSED=1 exec unshare --mount --propagation private "$0" "$@"

group=assay-peer-$$
while IFS=: read -r _ controllers own; do
  tree=/sys/fs/cgroup/$controllers
  if [ -n "$controllers" ] && [ -d "$tree" ] && [ "$own" != / ]; then mount --bind "$tree$own" "$tree"; fi
done </proc/self/cgroup
# Removes the groups of this run, and those of earlier runs that were killed.
sweep() {
  for made in /sys/fs/cgroup/*/assay-peer-*; do
    if [ -d "$made" ] && { [ "${made##*/}" = "$group" ] || [ ! -d "/proc/${made##*-}" ]; }; then
      find "$made" -depth -type d -exec rmdir {} + || true
    fi
  done
}
sweep
trap 'kill "$peer" 2>/dev/null' TERM
"$1" -silent -mount-conf "$2" -http-addr "127.0.0.1:$3" -cgroup-prefix "$group" &
peer=$!
wait "$peer" || true
wait "$peer" 2>/dev/null || true # a signal ends the first wait
sweep
