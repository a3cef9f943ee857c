# A running instance: its directory, its range of uids, its launcher.
#
# The script and its launcher hold the lock run/NAME/lock (descriptor 7). If another command can take the lock, the instance is dead, and
# the command sweeps it. Each instance on the machine has a uid range of its own, because the kernel counts processes by uid. The
# lock of the range (descriptor 8) is in /run/assay, where only root can take it; in /run/lock, any user could.

instance= opened= socket=
image_in_memory=
egress_directory= # of the launcher's option --egress; use_egress sets it
sandboxes=0 # of the launcher; commands that serve sandboxes set it to sandboxes_at_most
uid_base=
uid_locks=/run/assay
units_egress=/run/assay-egress # as the units of the service have it

# take_serving: takes serve.lock. The command that serves this data directory holds the lock, and so does its launcher, but not the
# service, which root does not trust.
take_serving() {
  only_ours "$data/serve.lock"
  exec 6<>"$data/serve.lock"
  flock -n 6 || fail "another 'assay serve' runs in $data"
}

# open_instance KIND: makes the directory of this instance. The caller holds the set-up lock, shared or exclusive. Other commands may sweep
# at the same time, and would remove a directory whose lock is free. Therefore the directory is a draft until this command has its
# lock, and is renamed then.
open_instance() {
  new_instance=$1-$(od -An -N4 -tx4 /dev/urandom | tr -d ' ')
  instance_dir=$data/run/$new_instance
  opened=$instance_dir.tmp.$$
  mkdir -m 0750 "$opened"
  chgrp "$service_user" "$opened"
  only_ours "$opened/lock"
  exec 7>"$opened/lock"
  flock -n 7 || fail "the new instance $new_instance is locked already"
  in_use >"$opened/uses"
  instance=$new_instance # first, so that an interrupted command removes it
  mv -T -- "$opened" "$instance_dir"
  opened=
}

# in_use: prints the versions that this command uses, which keep_recent must not remove.
in_use() {
  printf '%s\n' "$app" "$modules" "${launcher+${launcher%/*}}" "${launcher_asan+${launcher_asan%/*}}" \
    "${launcher_faults+${launcher_faults%/*}}" "${image-}" "${packs_image-}" "${dashboard-}"
}

# uid_locks_are_ours: whether $uid_locks is a directory of root, and not a link, with mode 0700. stat prints 41c0 for these.
uid_locks_are_ours() { [ "$(stat -c '%u %f' -- "$uid_locks" 2>/dev/null)" = '0 41c0' ]; }

# sweep_uid_locks: removes the files of ranges that no process holds. A process that is just taking such a range notices that the file is
# another one, and takes the next range.
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
      fail "$uid_locks must be a directory of root's with mode 0700; remove it and try again"
    # `command` prevents a failure from ending the shell: an uninstall may just have removed the directory.
    command exec 8>>"$uid_locks/uids-$range" || continue
    if flock -n 8 && [ "$(stat -L -c %i /dev/fd/8)" = "$(stat -c %i "$uid_locks/uids-$range" 2>/dev/null)" ]; then
      uid_base=$((1910000000 + range * 100000))
      return
    fi
  done
  fail "all 100 uid ranges of this machine are in use ($uid_locks/uids-*)"
}

# slots_for WORKERS: prints the number of the launcher's slots: one for each submission that may run, one for self-tests, and
# some in which runtimes wait (src/worker/worker.ts). An unused slot costs nothing.
slots_for() {
  waiting_slots=$(($1 + 4))
  [ $waiting_slots -le 64 ] || waiting_slots=64
  echo $(($1 + 1 + waiting_slots))
}

# image_bytes: prints how many bytes of memory the files of the image may take: the setting, or a quarter of the memory of this machine or
# container.
image_bytes() {
  if [ -n "${ASSAY_IMAGE_BYTES-}" ]; then
    echo "$ASSAY_IMAGE_BYTES"
    return
  fi
  quarter_of_memory
}

quarter_of_memory() {
  memory_bytes=$(awk '/^MemTotal:/ { printf "%.0f", $2 * 1024 }' /proc/meminfo)
  # In a container, these files contain its own limits. If there is none, they contain "max", or more than the machine has.
  for limit in $(cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null); do
    case $limit in max | ???????????????????*) continue ;; esac
    [ "$limit" -ge "$memory_bytes" ] || memory_bytes=$limit
  done
  echo $((memory_bytes / 4))
}

# sandboxes_at_most: prints how many sandboxes this machine may have at the same time: the setting, or without it 16 with SQLite, as SANDBOXES in
# src/config/settings.ts, and none with PostgreSQL.
sandboxes_at_most() {
  case ${ASSAY_SANDBOXES-} in
  *[!0-9]*) fail "ASSAY_SANDBOXES is not a whole number" ;;
  '') if [ -n "${ASSAY_DATABASE-}" ]; then echo 0; else echo 16; fi ;;
  *) echo "$ASSAY_SANDBOXES" ;;
  esac
}

# sandbox_disk_bytes: prints how many bytes of disks all sandboxes may have together: the setting, or none.
sandbox_disk_bytes() {
  case ${ASSAY_SANDBOX_DISK:-0} in *[!0-9]*) fail "ASSAY_SANDBOX_DISK is not a whole number of bytes" ;; esac
  echo "${ASSAY_SANDBOX_DISK:-0}"
}

# sandbox_bytes: prints how many bytes of memory all sandboxes may use together: the setting, or a quarter of the memory of this machine or
# container.
sandbox_bytes() {
  case ${ASSAY_SANDBOX_MEMORY-} in *[!0-9]*) fail "ASSAY_SANDBOX_MEMORY is not a whole number of bytes" ;; esac
  if [ -n "${ASSAY_SANDBOX_MEMORY-}" ]; then echo "$ASSAY_SANDBOX_MEMORY"; else quarter_of_memory; fi
}

# use_egress PARENT: sandboxes of this command's launcher can have a network, unless a setting says otherwise. Their proxy, which is in the service, makes its
# socket in a directory in PARENT. Their relays reach it by the launcher's descriptor of the directory, as users of their own; nobody else can enter PARENT.
use_egress() {
  case ${ASSAY_EGRESS:-yes} in yes | no) ;; *) fail "ASSAY_EGRESS is neither yes nor no" ;; esac
  [ "$sandboxes" -gt 0 ] && [ "${ASSAY_EGRESS:-yes}${ASSAY_SANDBOX_LOOPBACK:-yes}" = yesyes ] || return 0
  egress_directory=$1/egress
  [ -z "${running-}" ] || return 0
  [ -d "$1" ] || { mkdir -m 0710 -- "$1" && chgrp "$service_user" -- "$1"; }
  # The directory stays the same one for a service that runs, and for a launcher that is started again.
  [ -d "$egress_directory" ] || mkdir -m 0711 -- "$egress_directory"
  chown "$service_user:$service_user" -- "$egress_directory"
}

# use_launcher CLIENT_UID SLOTS: the processes of this command include a launcher, which listens on $socket for CLIENT_UID.
use_launcher() {
  [ -n "$uid_base" ] || take_uid_range
  socket=$instance_dir/launcher.sock
  [ ${#socket} -le 107 ] || fail "the data directory's name is too long: $socket would exceed the kernel's 107 bytes"
  launcher_client=$1 launcher_slots=$2
}

# with_launcher PROGRAM RUNNER...: calls RUNNER with the launcher PROGRAM and all the arguments that root sets for the launcher. Commands
# that run programs of several users for a long time set $image_in_memory to image_bytes, so that the image stays in memory.
with_launcher() {
  launcher_program=$1
  shift
  set -- "$@" env -i PATH="$PATH" "$launcher_program" --socket "$socket" --client-uid "$launcher_client" \
    --image "$image/rootfs" --instance "$instance" --uid-base "$uid_base" --slots "$launcher_slots"
  [ -z "$image_in_memory" ] || set -- "$@" --lock-image "$image_in_memory"
  [ "$sandboxes" -eq 0 ] || set -- "$@" --sandboxes "$sandboxes" --sandbox-memory "$(sandbox_bytes)"
  [ "$sandboxes" -eq 0 ] || [ -n "${ASSAY_SANDBOXES-}" ] || set -- "$@" --sandboxes-if-possible
  sandbox_disk=$(sandbox_disk_bytes)
  if [ "$sandboxes" -gt 0 ] && [ "$sandbox_disk" -gt 0 ]; then
    [ -n "${running-}" ] || make_disk_templates "$data/sandbox-disks" "$sandbox_disk"
    set -- "$@" --sandbox-disks "$data/sandbox-disks" --sandbox-disk "$sandbox_disk"
  fi
  [ -z "$egress_directory" ] || set -- "$@" --egress "$egress_directory"
  case ${ASSAY_SANDBOX_LOOPBACK:-yes} in
  yes) [ "$sandboxes" -eq 0 ] || set -- "$@" --loopback ;;
  no) ;;
  *) fail "ASSAY_SANDBOX_LOOPBACK is neither yes nor no" ;;
  esac
  ceilings=$(launcher_ceilings) && [ -n "$ceilings" ] || fail "the ceilings of the launcher cannot be computed"
  for ceiling in $ceilings; do
    set -- "$@" --ceiling "$ceiling"
  done
  "$@"
}

# launcher_ceilings: prints KEY=MAXIMUM for each limit that the launcher bounds: the value in setup/ceilings, or that of the operator in
# ASSAY_CEILINGS if it is higher. The service checks the form of the setting (src/domain/ceilings.ts).
launcher_ceilings() {
  awk -v given="${ASSAY_CEILINGS-}" '
    BEGIN {
      count = split(given, items, ",")
      for (i = 1; i <= count; i++) {
        split(items[i], pair, "=")
        gsub(/[[:space:]]/, "", pair[1])
        sub(/^compile_/, "", pair[1])
        if (pair[2] + 0 > value[pair[1]] + 0) value[pair[1]] = pair[2] + 0
      }
    }
    /^#/ || NF < 2 { next }
    {
      most = $2
      raised = NF < 5 || !($3 in value) ? 0 : int(value[$3] * $4 + $5)
      if (raised > most) most = raised
      printf "%s=%.0f\n", $1, most
    }' "$app/setup/ceilings"
}

# remove_all_groups DIR: removes the control groups of the instance in DIR. If the instance was a test run, it also removes those of the
# commands that the tests started: their data directories are in DIR, and an interrupted test cannot end them.
remove_all_groups() {
  groups_left=0
  for named in "${1##*/}" $(find "$1/data" -regextype posix-extended -type d -regex '.*/data/run/[a-z0-9-]+' -printf '%f\n' 2>/dev/null); do
    remove_groups "$named" || groups_left=1
  done
  return $groups_left
}

close_instance() {
  [ -n "$instance" ] || return 0
  # The directory is the only trace of the groups: while one of them is left, it stays, for the next command.
  if remove_all_groups "$instance_dir"; then remove_instance_dir "$instance_dir"; fi
  exec 7>&- 8>&-
  instance=
}

# leave: ends what this command has started, however it ends. Each part does nothing if it has been done.
leave() {
  end_processes
  end_service_group
  close_instance
  [ -z "$opened" ] || rm -rf --one-file-system -- "$opened"
}

# sweep_instances: removes what dead instances left after SIGKILL or a power cut: groups, mounts and directories. Several commands may
# sweep at the same time, so each of them first takes the lock of a dead instance.
sweep_instances() {
  for dir in "$data"/run/*/; do
    dir=${dir%/}
    case $dir in *.tmp.*) continue ;; esac
    [ -d "$dir" ] || continue
    (
      # A sweep by another command may just have removed it.
      [ -e "$dir/lock" ] || only_ours "$dir/lock" 2>/dev/null || exit 0
      { exec 7>>"$dir/lock"; } 2>/dev/null && flock -n 7 || exit 0
      if remove_all_groups "$dir"; then
        unmount_below "$dir"
        remove_instance_dir "$dir"
      fi
    ) || true
  done
  sweep_askers
  sweep_uid_locks
}

# sweep_askers: removes groups of dead commands, such as `assay status`, that asked a live instance or the units. The names of these groups
# end with the process id of the command.
sweep_askers() {
  groups_named 'assay-*-service-[0-9]*' | while read -r group; do
    asked=${group##*/assay-} && asked=${asked%-service-*}
    if [ -d "$data/run/$asked" ] || { [ "$asked" = unit ] && [ -d /run/systemd/system ]; }; then
      [ -e "/proc/${group##*-}" ] || end_group "$group" || true
    fi
  done
}

# remove_instance_dir DIR: removes the directory of an instance. Processes of the service's user can outlive the instance and create
# files in DIR/service while rm runs, which then fails or does not end. Therefore root takes the directory over first. After that, only
# processes that have a directory below it open can create files. For that case, the time of rm is bounded, and the next sweep tries
# again. The owner is changed before the mode, because without CAP_FOWNER, as in a container, root can change the mode of its own
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
