# The processes of a command. The shell describes them as arguments of the program assay-supervisor (supervisor/main.c), which starts and ends
# them, and waits only for this program. A process of the service's user could keep a shell waiting, but not this program, which
# belongs to root.

supervisor=           # the program; install_app sets it
supervisor_option=    # for run_as_service: an option for the output
supervisor_pid=       # while it runs
ended_by=             # the exit status for the signal that ended the processes

# user_ids: prints UID:GID of the service's user.
user_ids() { echo "$(id -u "$service_user"):$(id -g "$service_user")"; }

# supervise OPTION-OR-PROCESS...: starts the supervisor, and with it the processes. Of the environment, they get PATH, LANG, TMPDIR, TERM,
# NO_COLOR and settings (ASSAY_...).
supervise() {
  settings=$(env | sed -n 's/^\(ASSAY_[A-Z0-9_]*\)=.*/\1/p' | tr '\n' ' ')
  ASSAY_DATA=$data
  # glibc raises this threshold by itself, and then keeps the memory of large buffers, unless the variable fixes it.
  find_own_pid
  start_supervisor "$settings TERM NO_COLOR ASSAY_DATA" MALLOC_MMAP_THRESHOLD_=1048576 "$supervisor" --parent "$own_pid" "$@"
}

# find_own_pid: sets $own_pid to the process id of this shell. In a subshell, $$ is that of another one.
find_own_pid() { read -r own_pid _ </proc/self/stat; }

# start_supervisor NAMES [NAME=VALUE...] COMMAND...: starts COMMAND, which is the supervisor, in the environment that clean_env makes. The main
# process gets the shell's descriptor 3 as its standard input.
start_supervisor() {
  # SIGHUP asks only a running supervisor to do something.
  (trap '' HUP && clean_env exec "$@") <&3 3<&- &
  supervisor_pid=$!
  # The signal can have come before the line above.
  [ -z "$ended_by" ] || send_end
}

# is_supervisor PID: whether the process is a supervisor, and not still the shell that becomes one.
is_supervisor() {
  [ -n "$1" ] && { read -r _ supervisor_name _ <"/proc/$1/stat"; } 2>/dev/null && [ "$supervisor_name" = '(assay-superviso)' ]
}

# send_end: sends SIGTERM to the supervisor, as soon as it is that. A shell that has just been forked loses signals for a moment.
send_end() {
  until is_supervisor "$supervisor_pid" || has_ended "$supervisor_pid"; do sleep 0.01; done
  kill -s TERM "$supervisor_pid" 2>/dev/null || true
}

# pass_on SIGNAL [STATUS]: passes TERM or HUP on to the supervisor. TERM ends the processes, also if they are just being started. STATUS is the
# exit status if the main process ends by it.
pass_on() {
  case $1 in
  HUP) ! is_supervisor "$supervisor_pid" || kill -s HUP "$supervisor_pid" 2>/dev/null || true ;;
  *)
    ended_by=${2:-143}
    [ -z "$supervisor_pid" ] || send_end
    ;;
  esac
}

# pass_signals_on: from now on, signals are for the processes. Ctrl-C is passed on as SIGTERM, because a background process of a shell
# ignores SIGINT until it is the supervisor.
pass_signals_on() {
  trap 'pass_on TERM' TERM HUP
  trap 'pass_on TERM 130' INT
}

# has_ended PID: whether the process, a child of this shell, has ended.
has_ended() {
  { read -r _ _ child_state _ <"/proc/$1/stat"; } 2>/dev/null || return 0
  [ "$child_state" = Z ]
}

# await_processes: waits for the end of all processes, and sets $processes_status. Signals interrupt only a shell that waits.
await_processes() {
  while :; do
    processes_status=0
    wait "$supervisor_pid" || processes_status=$?
    kill -s 0 "$supervisor_pid" 2>/dev/null || break
  done
  # If a signal has interrupted the last wait, the shell still has the status of the supervisor. Otherwise it prints 127.
  late_status=0
  wait "$supervisor_pid" 2>/dev/null || late_status=$?
  [ $late_status -eq 127 ] || processes_status=$late_status
  [ "$processes_status" -ne 143 ] || processes_status=${ended_by:-143}
  supervisor_pid=
}

# run_processes OPTION-OR-PROCESS...: supervises processes until their end.
run_processes() {
  pass_signals_on
  supervise "$@"
  await_processes
  trap '' INT TERM HUP # this command only removes what it has made
}

# end_processes: ends the processes, if they run.
end_processes() {
  [ -n "$supervisor_pid" ] || return 0
  send_end
  await_processes
}

# run_as_service COMMAND ARGUMENT...: runs Node as the service's user, with the launcher if use_launcher was called.
run_as_service() {
  set -- "$node" --disable-sigusr1 "$app/$entry" "$@"
  with_processes run_processes ${supervisor_option:+"$supervisor_option"} --process "$command" --user "$(user_ids)" --group "$service_group" --run $# "$@"
}

# run_as_root COMMAND ARGUMENT...: runs Node as root, likewise. Its temporary files are in the directory of the instance, which is removed with
# it.
run_as_root() {
  set -- env "TMPDIR=$instance_dir" "$node" --disable-sigusr1 "$app/$entry" "$@"
  with_processes run_processes --process "$command" --run $# "$@"
}

# with_processes RUNNER ARGUMENT...: calls RUNNER with its arguments and, if use_launcher was called, the launcher. $restart is --restart for a
# service.
restart=
with_processes() {
  if [ -z "$socket" ]; then
    "$@"
  else
    with_launcher "$launcher.delegated" "$@" --process launcher --listens "$socket" --stop-seconds 20 --keeps-descriptors \
      ${restart:+"$restart"} --run all
  fi
}

# ask SECONDS PROGRAM ARGUMENT...: runs a program of Node as the service's user for at most SECONDS, and sets $answer to the beginning of its
# output, as plain text: other processes of the user could write to the output without end.
ask() {
  ask_seconds=$1
  shift
  answer=
  [ -z "$ended_by" ] || return 1
  # The file has no name, so that nothing is left of it.
  find_own_pid
  answer_file=${instance_dir:-$data/run}/.answer-$own_pid
  (umask 077 && : >"$answer_file")
  exec 4>"$answer_file" 5<"$answer_file"
  rm -f -- "$answer_file"
  set -- "$node" --disable-sigusr1 "$@"
  supervise --seconds "$ask_seconds" --plain --most-output 65536 --process question --user "$(user_ids)" --group "$service_group" \
    --stop-seconds 1 --run $# "$@" >&4 4>&- 5<&-
  await_processes
  answer=$(cat <&5)
  exec 4>&- 5<&-
  return "$processes_status"
}
