# A running instance: its directory, its range of uids, its launcher.
#
# run/NAME/lock (descriptor 7) is held as long as the script or its launcher lives: who can take it knows that the
# instance is dead and may sweep. The uid range (descriptor 8) is one of the whole machine, because the kernel counts
# processes by uid; that is why its lock is in /run/assay, which is root's alone: in /run/lock anybody could hold it.

instance=
launcher_pid=
uid_base=
uid_locks=/run/assay

# Held by whoever serves this data directory, its launcher included; not by the service, which root does not trust.
take_serving() {
  only_ours "$data/serve.lock"
  exec 6<>"$data/serve.lock"
  flock -n 6 || fail "another 'assay serve' runs in $data"
}

# open_instance KIND: still under the set-up lock, so that no sweep meets a directory whose lock is not taken yet.
open_instance() {
  instance=$1-$(od -An -N4 -tx4 /dev/urandom | tr -d ' ')
  instance_dir=$data/run/$instance
  mkdir -m 0750 "$instance_dir"
  chgrp "$service_user" "$instance_dir"
  only_ours "$instance_dir/lock"
  exec 7>"$instance_dir/lock"
  flock -n 7 || fail "the new instance $instance is locked already"
  in_use >"$instance_dir/uses"
}

# in_use: what this command has prepared, as keep_recent must not remove it.
in_use() {
  printf '%s\n' "$app" "$modules" "${launcher+${launcher%/*}}" "${launcher_asan+${launcher_asan%/*}}" \
    "${launcher_faults+${launcher_faults%/*}}" "${image-}" "${dashboard-}"
}

# 41c0 is a directory, no link, with mode 0700.
uid_locks_are_ours() { [ "$(stat -c '%u %f' -- "$uid_locks" 2>/dev/null)" = '0 41c0' ]; }

# Removes the files of ranges that no process holds. A process that is about to take one sees that its file is another.
sweep_uid_locks() {
  uid_locks_are_ours || return 0
  for lock in "$uid_locks"/uids-*; do
    [ -e "$lock" ] || continue
    (exec 8>>"$lock" && flock -n 8 && rm -f -- "$lock") || true
  done
}

take_uid_range() {
  range=$(od -An -N1 -tu1 /dev/urandom | tr -d ' ')
  tries=0
  while range=$(((range + 1) % 100)) && [ $tries -lt 100 ]; do
    tries=$((tries + 1))
    mkdir -m 0700 -- "$uid_locks" 2>/dev/null || uid_locks_are_ours ||
      fail "$uid_locks must be a directory of root's with mode 0700; remove what is there"
    # By `command`, without which a failure ends the shell: an uninstall may just have removed the directory.
    command exec 8>>"$uid_locks/uids-$range" || continue
    if flock -n 8 && [ "$(stat -L -c %i /dev/fd/8)" = "$(stat -c %i "$uid_locks/uids-$range" 2>/dev/null)" ]; then
      uid_base=$((1900000000 + range * 10000))
      return
    fi
  done
  fail "all 100 uid ranges of this machine are in use ($uid_locks/uids-*)"
}

# start_launcher CLIENT_UID SLOTS: returns when it listens on $socket.
start_launcher() {
  [ -n "$uid_base" ] || take_uid_range
  socket=$instance_dir/launcher.sock
  [ ${#socket} -le 107 ] || fail "the data directory's name is too long: $socket would exceed the kernel's 107 bytes"
  launcher_client=$1 launcher_slots=$2
  if ! launch; then
    launcher_pid= # there is nothing to stop
    fail "the launcher did not start; its words stand above"
  fi
}

# with_launcher PROGRAM RUNNER...: RUNNER with PROGRAM, the launcher, and all that root fixes for it as its arguments.
with_launcher() {
  launcher_program=$1
  shift
  set -- "$@" env -i PATH="$PATH" "$launcher_program" --socket "$socket" --client-uid "$launcher_client" \
    --image "$image/rootfs" --instance "$instance" --uid-base "$uid_base" --slots "$launcher_slots"
  while read -r ceiling most; do
    case $ceiling in '' | '#'*) ;; *) set -- "$@" --ceiling "$ceiling=$most" ;; esac
  done <"$app/setup/ceilings"
  "$@"
}

# launch: the launcher that start_launcher chose. After one that died it sweeps that one's groups and takes its uids, which
# nobody else may have before. Returns 1 when it does not listen.
launch() {
  rm -f -- "$socket"
  # A session of its own: Ctrl-C is for us, who drain the service first.
  (with_launcher "$launcher.delegated" exec setsid setpriv --pdeathsig TERM) </dev/null >&2 4>&- 5>&- &
  launcher_pid=$!
  clock
  launcher_since=$now
  waited=0
  until [ -S "$socket" ]; do
    alive "$launcher_pid" || return 1
    if [ $waited -ge 500 ]; then
      say "the launcher did not listen within 10 s"
      kill -KILL "$launcher_pid"
      return 1
    fi
    waited=$((waited + 1))
    sleep 0.02
  done
}

# alive PID: false for a child that ended and that we have not waited for. Also false for a process whose first thread ended alone, which
# only a compromised service does.
alive() {
  { read -r process_state <"/proc/$1/stat"; } 2>/dev/null || return
  case ${process_state##*) } in [ZX]*) return 1 ;; esac
}

# end PID SECONDS: SIGTERM, then SIGKILL after that time. Returns its exit status.
end() {
  ask_to_end "$1" "$2"
  wait "$1"
}

# ask_to_end PID SECONDS: the same, without the wait for its exit status.
ask_to_end() {
  kill -TERM "$1" 2>/dev/null || true
  waited=0
  while alive "$1"; do
    if [ $waited -ge $(($2 * 50)) ]; then
      say "process $1 did not stop within $2 s; killed"
      break
    fi
    waited=$((waited + 1))
    sleep 0.02
  done
  kill_child "$1"
}

# kill_child PID: with all its threads, also where only the first one ended. The shell can have reaped the child already, and its number
# can be another process's.
kill_child() {
  { read -r process_state <"/proc/$1/stat"; } 2>/dev/null || return 0
  case ${process_state##*) } in ?" $$ "*) kill -KILL "$1" 2>/dev/null || true ;; esac
}

# reapable PID: whether `wait` returns for a child that is not alive. It does not while another thread of the child lives or a tracer holds
# the child.
reapable() {
  for thread in "/proc/$1/task"/*; do
    [ "$thread" = "/proc/$1/task/$1" ] || [ ! -d "$thread" ] || return
  done
  { while read -r field value; do [ "$field $value" = 'TracerPid: 0' ] && return; done <"/proc/$1/status"; } 2>/dev/null
  [ ! -d "/proc/$1" ]
}

stop_launcher() {
  [ -n "$launcher_pid" ] || return 0
  stop_status=0
  end "$launcher_pid" 20 || stop_status=$?
  launcher_pid=
  [ $stop_status -eq 0 ] || say "the launcher ended with status $stop_status"
  return $stop_status
}

close_instance() {
  [ -n "$instance" ] || return 0
  remove_groups "$instance"
  remove_instance_dir "$instance_dir"
  exec 7>&- 8>&-
  instance=
}

# Directories of instances that nobody holds any more: after SIGKILL, or a power cut.
sweep_instances() {
  for dir in "$data"/run/*/; do
    dir=${dir%/}
    [ -d "$dir" ] || continue
    (exec 7>>"$dir/lock" && flock -n 7) || continue
    remove_groups "${dir##*/}"
    unmount_below "$dir"
    remove_instance_dir "$dir"
  done
  sweep_uid_locks
}

# remove_instance_dir DIR: processes of the service's user can outlive their instance, and create files in DIR/service while rm runs, which
# then fails or does not end. Those that have no directory below it open cannot once it is root's. Otherwise the time is bounded, and the
# next sweep tries again. The owner changes first, because without CAP_FOWNER (in a container) root can change the mode of its own
# files only.
remove_instance_dir() {
  if [ -d "$1/service" ]; then
    chown 0:0 -- "$1/service"
    chmod 0700 -- "$1/service"
    timeout 5 rm -rf --one-file-system -- "$1/service" 2>/dev/null || {
      say "cannot remove $1: processes of the user $service_user may create files in it; the next command tries again"
      return 0
    }
  fi
  rm -rf --one-file-system -- "${1:?}"
}
