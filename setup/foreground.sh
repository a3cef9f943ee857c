# Shared by serve and worker, which run two processes until SIGTERM: the launcher as root, and the service or worker without privileges.
# A file that sources this one sets $asked, the path of the operator listener that returns 200 when the command is ready, and defines
# `welcome`.
#
# If one of the two processes ends by itself before the command was ready, its configuration is probably wrong, and the command fails.
# If it ends later, it is restarted. The other process then reconnects, and what the ended process held is swept: cgroups by the
# launcher (launcher/cgroup/cgroup.c), submissions by a worker (src/store/submissions/lease.ts).

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

service_pid=
asker_pid=
ticker_pid=

# start_service COMMAND ARGUMENTS...: starts the service or worker for the first time.
start_service() {
  # The listener for readiness, which needs no key.
  if [ -z "$operator" ]; then
    operator=unix:$instance_dir/service/operator.sock
    mkdir -m 0700 "$instance_dir/service"
    chown "$service_user:$service_user" "$instance_dir/service"
  fi
  printf '%s\n' "$operator" >"$instance_dir/operator" # for 'assay status'
  # A line for each request is useful in log files, but not on a terminal.
  [ ! -t 1 ] || export ASSAY_LOG_LEVEL="${ASSAY_LOG_LEVEL:-warn}"
  open_relay
  run_service "$@"
}

# run_service COMMAND ARGUMENTS...: starts the service or worker, also again after its death.
run_service() {
  service_command=$1
  shift
  make_service_group "$instance-service"
  run_node as_service "$service_command" --data "$data" "$@" --operator-listen "$operator"
  service_pid=$node_pid
  clock
  service_since=$now
}

# ask_until_ready: replaces the shell by a process that waits until the path $asked returns 200. "/ready" does so only after a real run
# through every control, "/live" as soon as the database responds.
ask_until_ready() {
  clean_env as_service '' "$node" --disable-sigusr1 "$app/setup/ask-until-ready.ts" "$operator" "$asked"
}

# reload: the service reads its certificate again. Before it is ready, it has just read it or is about to.
reload() {
  if [ $was_ready = yes ] && [ -n "$service_pid" ]; then kill -s HUP "$service_pid" 2>/dev/null || true; fi
}

# end_service: waits for a service that has ended, and kills the processes that it left. Returns its exit status, or 137 if it had threads
# or a tracer left.
end_service() {
  if reapable_soon "$service_pid"; then
    service_status=0
    wait "$service_pid" || service_status=$?
    end_service_group
    return $service_status
  fi
  kill_child "$service_pid"
  end_service_group
  # A killed process does not end while a tracer outside the group holds it, or while a system call waits for a file system of its own.
  if reapable_soon "$service_pid"; then
    wait "$service_pid" || true
  else
    say "process $service_pid of the service was killed but does not end; it can keep the port of the service"
  fi
  return 137
}

# stop STATUS [MESSAGE]: stops the service first, so that it can finish running programs, then the launcher.
stop() {
  trap '' INT TERM HUP
  trap - CHLD
  [ -z "${2-}" ] || say "$2"
  final_status=$1
  for helper in $asker_pid $ticker_pid; do kill "$helper" 2>/dev/null || true; done
  if [ -n "$service_pid" ]; then
    # After the drain time come the last webhook attempt (10 s) and the last responses (2 s).
    ask_to_end "$service_pid" $(((drain_ms + 999) / 1000 + 15))
    end_service || final_status=1
  fi
  close_relay || final_status=1
  stop_launcher || final_status=1
  close_instance
  exit "$final_status"
}

lives() { [ -z "$1" ] || alive "$1"; }

# died NAME PID SINCE: reports that a process has ended. If the command was not ready yet, the command fails. Otherwise, this returns when
# the process may be restarted: at once after the first three deaths, and then after a pause that doubles from 1 to 8 s, because a
# process that always dies at its start would use a whole CPU. If the process had run for 5 s, its death counts as the first one.
died() {
  death_status=0
  if [ "$1" = service ]; then
    end_service || death_status=$?
  else
    wait "$2" || death_status=$?
  fi
  # From now on, another process can have this process id.
  case $1 in
  launcher) launcher_pid= ;;
  service) service_pid= ;;
  esac
  if [ $death_status -gt 128 ]; then how="by signal $((death_status - 128))"; else how="with status $death_status"; fi
  [ $was_ready = yes ] || stop 1 "the $1 ended by itself $how; see its output"
  clock
  if [ $((now - $3)) -ge 500 ]; then deaths=0; fi
  deaths=$((deaths + 1))
  case $deaths in 1 | 2 | 3) pause=0 ;; 4) pause=1 ;; 5) pause=2 ;; 6) pause=4 ;; *) pause=8 ;; esac
  say "the $1 ended by itself $how; starting it again$([ $pause -eq 0 ] || echo " in $pause s")"
  # The pause is in the background, because a shell handles signals only while it waits.
  sleep $pause 3<&- 4>&- 5>&- 6<&- 7>&- 8>&- >/dev/null 2>&1 &
  wait $! || true
}

was_ready=no
deaths=0

# stay COMMAND ARGUMENTS...: runs until a signal. The arguments are those of the preceding start_service.
stay() {
  (ask_until_ready) &
  asker_pid=$!
  # With a trap on CHLD, `wait` returns when any child ends. If a child ends between the check and `wait`, `wait` returns only when another
  # child ends; the ticker is a child that ends every 10 s. Elsewhere the trap is off, because in dash it would end every other `wait`.
  while :; do
    if [ -z "$ticker_pid" ] || ! alive "$ticker_pid"; then
      sleep 10 3<&- 4>&- 5>&- 6<&- 7>&- 8>&- >/dev/null 2>&1 &
      ticker_pid=$!
    fi
    trap : CHLD
    if lives "$service_pid" && lives "$launcher_pid" && { [ -z "$asker_pid" ] || alive "$asker_pid"; }; then
      wait "$service_pid" || true
    fi
    trap - CHLD
    if ! lives "$launcher_pid"; then
      died launcher "$launcher_pid" "$launcher_since"
      launch || true # if it failed, it is not alive and is handled here again
    fi
    if ! lives "$service_pid"; then
      died service "$service_pid" "$service_since"
      run_service "$@"
    fi
    if [ -n "$asker_pid" ] && ! alive "$asker_pid"; then
      # The child runs as the service's user, so another process of that user can trace it, and then `wait` would not return.
      { reapable_soon "$asker_pid" && wait "$asker_pid"; } || stop 1 "the service did not become ready"
      asker_pid=
      was_ready=yes
      welcome
    fi
  done
}
