# What the runners of this directory share. Each is called RUNNER TOOLS DIR APP SECONDS and lets what DIR/command has, with
# its environment, run on another kind of host, on this standard output. Its status is that command's; 1 without one.

# contained HOST RUNNER TOOLS DIR APP SECONDS: RUNNER once more, with the argument "inside" added, in namespaces that go
# with every process and mount of theirs after SECONDS, and when we are ended.
contained() {
  host=$1 dir=$4 seconds=$6
  shift
  interrupted=no
  # unshare hears no SIGTERM while its child lives; SIGKILL takes the child along.
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
  # First what was done to it: a command that is ended with its host may leave a status, too.
  case $interrupted-$status in
  yes-*) echo "$host was interrupted" >&2 ;;
  no-124 | no-137) echo "$host did not end within $seconds s and was killed; its console stands above" >&2 ;;
  *)
    [ ! -f "$dir/status" ] || return "$(cat "$dir/status")"
    echo "$host ended with $status and without a result; its console stands above" >&2
    ;;
  esac
  return 1
}

# boot HOST DIR KERNEL ARGUMENTS...: for process 1 of those namespaces. When the command has left its status, all that counts is
# done: a kernel that does not halt then (user-mode Linux was seen to hang after its last words) is not waited for.
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

# make_place DIR APP: what the run on the machine's own kernel has for its tests, empty, and the languages of this one.
make_place() {
  for place in data:755 cache:755 tmp:1777; do
    [ ! -d "${1%/*}/${place%:*}" ] || mount -t tmpfs -o "mode=${place#*:}" "${place%:*}" "${1%/*}/${place%:*}" || return
  done
  mount --bind "$1/languages" "$2/languages" && cd "$2" || return
}

# run_command DIR: its words go where ours go, and its status into a file, because what ends last is the host.
run_command() {
  status=0
  xargs -0 -a "$1/command" env </dev/null || status=1
  echo $status >"$1/status"
}
