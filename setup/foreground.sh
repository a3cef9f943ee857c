# Shared by serve and worker, which run two processes until SIGTERM: the launcher as root, and the service or worker without privileges.
# With --no-worker there is no launcher.
# A file that sources this one sets $asked, the path of the operator listener that returns 200 when the command is ready, and defines
# `welcome`.
#
# If one of the two processes ends by itself before the command was ready, its configuration is probably wrong, and the command fails.
# If it ends later, the supervisor starts it again (supervisor/main.c). The other process then reconnects, and what the ended process held
# is swept: cgroups by the launcher (launcher/cgroup/cgroup.c), submissions by a worker (src/store/submissions/lease.ts).

# option NAME DEFAULT ARGUMENTS...: prints the value of the last --NAME in the arguments, or DEFAULT if there is none.
option() {
  option_name=$1 option_value=$2
  shift 2
  while [ $# -gt 0 ]; do
    case $1 in
    "--$option_name") option_value=${2-} ;;
    "--$option_name="*) option_value=${1#*=} ;;
    esac
    shift
  done
  printf '%s' "$option_value"
}

# common_options ARGUMENTS...: reads the options that set-up needs; Node reads them again.
common_options() {
  ASSAY_LANGUAGES=$(option languages "${ASSAY_LANGUAGES-}" "$@")
  workers=$(option workers "${ASSAY_WORKERS:-$(nproc)}" "$@")
  case $workers in
  '' | *[!0-9]*) misuse "--workers must be a whole number, not '$workers'" ;;
  esac
  # The value is read as Node reads it, which also rejects non-numeric values.
  drain_ms=$(printf '%s' "${ASSAY_DRAIN_MS:-20000}" | sed 's/^0*\(.\)/\1/')
  case $drain_ms in
  *[!0-9]* | ????????*) misuse "ASSAY_DRAIN_MS must be a whole number of milliseconds up to 3600000, not '$drain_ms'" ;;
  esac
  operator=$(option operator-listen "${ASSAY_OPERATOR_LISTEN-}" "$@")
  # Exported for all commands that this one starts.
  ASSAY_DATABASE=$(option database "${ASSAY_DATABASE-}" "$@")
  if [ -n "$ASSAY_DATABASE" ]; then export ASSAY_DATABASE; else unset ASSAY_DATABASE; fi
}

# run_service COMMAND ARGUMENT...: runs the service or worker and its launcher until a signal, and ends this command.
run_service() {
  service_command=$1
  shift
  # The listener for readiness, which needs no key.
  if [ -z "$operator" ]; then
    operator=unix:$instance_dir/service/operator.sock
    mkdir -m 0700 "$instance_dir/service"
    chown "$service_user:$service_user" "$instance_dir/service"
  fi
  printf '%s\n' "$operator" >"$instance_dir/operator" # for 'assay status'
  # A line for each request is useful in log files, but not on a terminal.
  [ ! -t 1 ] || export ASSAY_LOG_LEVEL="${ASSAY_LOG_LEVEL:-warn}"
  make_service_group "$instance-service"
  set -- "$node" --disable-sigusr1 "$app/$entry" "$service_command" --data "$data" "$@" --operator-listen "$operator"
  # After the drain time come the last webhook attempt (10 s) and the last responses (2 s).
  restart=--restart
  with_processes supervise --process service --user "$(user_ids)" --group "$service_group" \
    --stop-seconds $(((drain_ms + 999) / 1000 + 15)) --restart --run $# "$@"
  service_supervisor=$supervisor_pid
  announce &
  announcer_pid=$!
  await_processes
  trap '' INT TERM HUP
  [ "$processes_status" -ne 143 ] || processes_status=0 # stopped before the supervisor had started anything
  kill -s TERM "$announcer_pid" 2>/dev/null || true
  # The terminal to which it writes may take nothing.
  for _ in $(seq 250); do
    ! has_ended "$announcer_pid" || break
    sleep 0.02
  done
  kill -s KILL "$announcer_pid" 2>/dev/null || true
  wait "$announcer_pid" || true
  end_service_group
  close_instance
  exit "$processes_status"
}

# stop_service: lets running programs finish, then stops the service and the launcher.
stop_service() {
  trap '' INT TERM HUP
  pass_on TERM
  say "stopping: running programs may finish"
}

# announce: waits until the service is ready, tells its supervisor, and greets the operator. It runs in a subshell, beside the service. If it
# fails, the service is stopped, and the command fails.
announce() {
  exec 6>&- 7>&- 8>&- # the locks of the instance
  supervisor_pid=
  trap 'pass_on TERM' TERM
  trap '' HUP # of a terminal or for a reload; the script itself ends this subshell
  trap '[ $? -eq 0 ] || [ -n "$ended_by" ] || tell_supervisor USR2; end_service_group' EXIT
  [ -z "$service_group" ] || make_service_group "$instance-service-ask"
  # "/ready" returns 200 only after a real run through every control, "/live" as soon as the database responds.
  # The launcher may need 2 minutes before it listens. If the service does not start at all, the supervisor notices that.
  if ask 310 "$app/setup/ask-until-ready.ts" "$operator" "$asked" 250; then
    tell_supervisor USR1 && welcome
  elif [ -z "$ended_by" ]; then
    fail "the service did not become ready"
  fi
}

# tell_supervisor SIGNAL: sends a signal to the supervisor of the service, if this is still the child of the script. In a subshell, $$ is the
# script, which can have been killed.
tell_supervisor() {
  { read -r _ _ _ supervisor_parent _ <"/proc/$service_supervisor/stat"; } 2>/dev/null && [ "$supervisor_parent" = $$ ] &&
    kill -s "$1" "$service_supervisor"
}
