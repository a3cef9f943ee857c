# Control groups of instances: assay-NAME is for the launcher, assay-NAME-service for all processes of the service's user.
#
# A process of the service's user can leave its session and its parent, but not its cgroup. Without the cgroup, a compromised service
# could start a process that outlives it and keeps its port, its database and its TLS key open.

service_group= # of the processes of the service's user; empty if there is none

# own_groups: prints the directories of the control groups in which this shell is: that of version 2, and that of the pids controller of
# version 1.
own_groups() {
  awk '
    NR == FNR {
      path = $0
      sub(/^[^:]*:[^:]*:/, "", path)
      split($0, part, ":")
      if ($0 ~ /^0::/) own["cgroup2"] = path
      else if ("," part[2] "," ~ /,pids,/) own["cgroup"] = path
      next
    }
    {
      for (i = 7; $i != "-"; i++);
      type = $(i + 1)
      if (!(type in own) || type in found || own[type] ~ /\/\.\./) next
      if (type == "cgroup" && "," $(i + 3) "," !~ /,pids,/) next
      path = own[type]
      if ($4 != "/") {
        if (index(path "/", $4 "/") != 1) next
        path = substr(path, length($4) + 1)
      }
      found[type] = $5 path
    }
    END {
      if ("cgroup2" in found) print found["cgroup2"]
      if ("cgroup" in found) print found["cgroup"]
    }' /proc/self/cgroup /proc/self/mountinfo
}

# make_service_group NAME: sets $service_group, which processes of the service's user enter.
make_service_group() {
  service_group=
  for parent in $(own_groups); do
    if mkdir "$parent/assay-$1" 2>/dev/null; then
      service_group=$parent/assay-$1
      return
    fi
  done
  say "cannot make a control group: processes that a compromised service starts can outlive it, and then keep its port"
}

# end_service_group: kills all processes in $service_group and removes the group.
end_service_group() {
  [ -z "$service_group" ] || end_group "$service_group" || true # close_instance tries again
  service_group=
}

# end_group GROUP: kills all processes in GROUP and in the groups below it, and removes these groups. Fails if GROUP cannot be removed,
# because killed processes have not ended yet, as on a busy machine.
end_group() {
  tries=0
  while [ -d "$1" ] && [ $tries -lt 500 ]; do
    kill_members "$1"
    find "$1" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.02
    tries=$((tries + 1))
  done
  [ -d "$1" ] || return 0
  say "cannot remove the control group $1; the next command tries again"
  return 1
}

# kill_members GROUP: kills all processes in GROUP. A process that forks all the time could escape from a loop over the members, but not
# from cgroup.kill (version 2), and it cannot fork with a pids.max of 0 (version 1).
kill_members() {
  if [ -e "$1/cgroup.kill" ]; then
    (echo 1 >"$1/cgroup.kill") 2>/dev/null || true
    return
  fi
  ([ ! -e "$1/pids.max" ] || echo 0 >"$1/pids.max") 2>/dev/null || true
  find "$1" -name cgroup.procs -exec cat {} + 2>/dev/null | while read -r member; do
    # 0 is a process of another pid namespace; for kill, it would mean our own process group.
    [ "$member" -eq 0 ] || kill -KILL "$member" 2>/dev/null || true
  done
}

# groups_named PATTERN...: prints the groups in every hierarchy whose name matches one of the patterns, without the groups below them. It
# prints only groups owned by root: in a delegated tree, a user could make a group with such a name, and we would kill the
# processes in it.
groups_named() {
  set -- "$@" --
  while [ "$1" != -- ]; do
    set -- "$@" -o -name "$1"
    shift
  done
  shift 2 # the first -o
  find /sys/fs/cgroup -maxdepth 12 -type d -user 0 \( "$@" \) -prune 2>/dev/null
}

# remove_groups NAME: kills what is left in the control groups of a dead instance, and removes them. Fails if it cannot remove one.
remove_groups() {
  # `assay bench` starts a second launcher, with a group of its own (bench/launcher.ts).
  groups_named "assay-$1" "assay-$1-service*" "assay-$1-bench" | {
    groups_left=0
    while read -r group; do end_group "$group" || groups_left=1; done
    return $groups_left
  }
}
