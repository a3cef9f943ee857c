# Functions of the runners in this directory. Each is called RUNNER TOOLS DIR APP SECONDS and runs the command in DIR/command,
# with its environment, on another kind of host, with this standard output. It exits with the command's status; 1 without one.

# contained HOST RUNNER TOOLS DIR APP SECONDS: calls RUNNER again with the additional argument "inside", in namespaces that end
# with all their processes and mounts after SECONDS or with this process.
contained() {
  host=$1 dir=$4 seconds=$6
  shift
  interrupted=no
  # unshare ignores SIGTERM while its child lives. SIGKILL ends the child as well.
  timeout --kill-after=2 "$seconds" setpriv --pdeathsig KILL \
    unshare --mount --pid --fork --kill-child --mount-proc -- "$@" inside </dev/null &
  booted=$!
  trap 'interrupted=yes && kill -TERM "$booted"' TERM INT HUP
  while :; do
    status=0
    wait "$booted" || status=$?
    kill -0 "$booted" 2>/dev/null || break
  done
  trap '' TERM INT HUP
  # The reason for an early end comes first: a command that was ended with its host may leave a status as well.
  case $interrupted-$status in
  yes-*) echo "$host was interrupted" >&2 ;;
  no-124 | no-137) echo "$host did not end within $seconds s and was killed; its console output is above" >&2 ;;
  *)
    [ ! -f "$dir/status" ] || return "$(cat "$dir/status")"
    echo "$host ended with $status and without a result; its console output is above" >&2
    ;;
  esac
  return 1
}

# boot HOST DIR KERNEL ARGUMENTS...: for process 1 of those namespaces. Once the command has left its status, a kernel that does
# not halt is not waited for (user-mode Linux was seen to hang after its last output).
boot() {
  host=$1 result=$2/status late=0
  shift 2
  "$@" &
  kernel=$!
  while sleep 1 && kill -0 "$kernel" 2>/dev/null; do
    [ -f "$result" ] || continue
    late=$((late + 1))
    [ $late -le 10 ] || break
  done
  if [ $late -gt 10 ]; then
    echo "$host did not halt within 10 s of the end of its command, and was killed" >&2
    return
  fi
  wait "$kernel"
}

# make_place DIR APP: mounts empty directories for the tests, and the languages of this run.
make_place() {
  for place in data:755 cache:755 tmp:1777; do
    [ ! -d "${1%/*}/${place%:*}" ] || mount -t tmpfs -o "mode=${place#*:}" "${place%:*}" "${1%/*}/${place%:*}" || return
  done
  mount --bind "$1/languages" "$2/languages" && cd "$2" || return
}

# run_command DIR: passes the command's output on and writes its status into a file, because the host ends last.
run_command() {
  status=0
  xargs -0 -a "$1/command" env </dev/null || status=1
  echo $status >"$1/status"
}
