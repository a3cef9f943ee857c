# The set-up that commands share, in the order in which one needs the other.

prepare_software() {
  clock
  prepare_start=$now
  interruptible
  known_processor
  for_this_machine
  open_data_dir
  if software_is_elsewhere; then
    use_software
    give_to_service
    return
  fi
  install_packages
  make_user
  [ "${role-}" = software ] || give_to_service
  install_modules
  install_app
}

# What serves has the dashboard, too; a worker and the other commands have not.
prepare_service() {
  if [ "$own_worker" = yes ]; then prepare_engine; else prepare_software; fi
  software_is_elsewhere || build_dashboard
}

prepare_engine() {
  prepare_software
  software_is_elsewhere || build_engine
}

build_engine() {
  build_launcher
  build_image
}

# prepared KIND: set-up is over; from here on we are a running instance.
prepared() {
  keep_recent_versions
  open_instance "$1"
  unlock_set_up
}

# run_node RUNNER COMMAND ARGS...: in the background, because a shell hears signals only while it waits. In a session of
# its own (see as_service), so signals to the terminal's or a supervisor's whole group are for us, who pass them on once:
# the service takes a second one as "at once".
# Sets $node_pid. Descriptor 3 is the caller's stdin: a background process gets none by itself.
run_node() {
  node_runner=$1
  shift
  settings=$(env | sed -n 's/^\(ASSAY_[A-Z0-9_]*\)=.*/\1/p' | tr '\n' ' ')
  ASSAY_DATA=$data
  (clean_env "$node_runner" "$settings TERM NO_COLOR ASSAY_DATA" "$node" --disable-sigusr1 "$app/src/main.ts" "$@") <&3 3<&- 6>&- 7>&- 8>&- &
  node_pid=$!
}

# What runs beside Node and ends with it.
beside_pid=
interruptions=0

# What Node started, too: doctor has a launcher of its own. Before setsid there is no such group. A second signal, a second later or
# more, kills: a compromised service can stop the processes of its user.
end_node() {
  clock
  case $interruptions in
  0) interruptions=1 interrupted_since=$now ending=TERM ;;
  *) [ $((now - interrupted_since)) -lt 100 ] || interruptions=2 ending=KILL ;;
  esac
  for ended_pid in $node_pid $beside_pid; do
    kill -s $ending -- "-$ended_pid" 2>/dev/null || kill -s $ending "$ended_pid" 2>/dev/null || true
  done
}

# finish_node: waits, passing a signal on, and sets $node_status to Node's exit status. Ctrl-C is passed on as SIGTERM,
# because what a shell starts in the background ignores SIGINT until Node is there; who asks hears 130 all the same.
finish_node() {
  ended_by=143
  trap end_node TERM HUP
  trap 'ended_by=130; end_node' INT
  while :; do
    node_status=0
    wait "$node_pid" || node_status=$?
    alive "$node_pid" || break
  done
  # A signal can interrupt the wait in the instant in which Node ends. The shell then still has Node's status; otherwise it
  # answers 127. After the second signal it does not wait: a tracer can keep a process that has ended.
  if [ $interruptions -eq 1 ]; then
    last_status=0
    wait "$node_pid" || last_status=$?
    [ $last_status -eq 127 ] || node_status=$last_status
  fi
  trap '' TERM HUP INT
  [ "$node_status" -ne 143 ] || node_status=$ended_by
}
