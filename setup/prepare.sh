# The set-up that commands share, in the order of dependencies.

prepare_software() {
  clock
  prepare_start=$now
  interruptible
  known_processor
  for_this_machine
  open_data_dir
  if software_is_prebuilt; then
    use_software
    choose_languages
    give_to_service
    return
  fi
  install_packages
  make_user
  [ "${role-}" = software ] || give_to_service
  install_modules
  install_app
  choose_languages
}

# Only a service has the dashboard, not a worker or another command.
prepare_service() {
  if [ "$own_worker" = yes ]; then prepare_sandbox; else prepare_software && keep_languages; fi
  software_is_prebuilt || build_dashboard
}

prepare_sandbox() {
  prepare_software
  software_is_prebuilt || build_sandbox
}

build_sandbox() {
  build_launcher
  build_image
  # Releases and tests have the eight alone; the tests of packs name theirs (command-test.sh).
  case $command in release | test) ;; *) add_packs "$ASSAY_LANGUAGES" ;; esac
  keep_languages
}

# prepared KIND: ends set-up and makes this command a running instance.
prepared() {
  keep_recent_versions
  trap leave EXIT
  open_instance "$1"
  unlock_set_up
}

# run_node RUNNER COMMAND ARGS...: in the background, because a shell handles signals only while it waits. It is in its own
# session (see as_service), so signals to the group of the terminal or supervisor reach only this shell, which forwards
# them once: a second signal makes the service end immediately.
# Sets $node_pid. Descriptor 3 is the caller's stdin, because a background process has none.
run_node() {
  node_runner=$1
  shift
  # Files of a root's program go with its instance. The service's user cannot write to either directory.
  scratch=
  [ "$node_runner" != as_root ] || [ -z "$instance" ] || scratch=TMPDIR=$instance_dir
  settings=$(env | sed -n 's/^\(ASSAY_[A-Z0-9_]*\)=.*/\1/p' | tr '\n' ' ')
  ASSAY_DATA=$data
  # The threshold is for glibc: if glibc chooses it, large buffers after the first ones are not given back to the machine.
  (clean_env "$node_runner" "$settings TERM NO_COLOR ASSAY_DATA" ${scratch:+"$scratch"} MALLOC_MMAP_THRESHOLD_=1048576 "$node" --disable-sigusr1 "$app/$entry" "$@") <&3 3<&- 6>&- 7>&- 8>&- &
  node_pid=$!
}

# Processes that run alongside Node and end with it.
beside_pid=
interruptions=0

# Ends Node's process group, which includes doctor's launcher. Before setsid there is no such group. A second signal, at
# least a second later, kills: a compromised service can stop the processes of its user.
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

# finish_node: waits, forwards signals and sets $node_status to Node's exit status. Ctrl-C is forwarded as SIGTERM,
# because background processes of a shell ignore SIGINT until Node has started; the exit status is still 130.
finish_node() {
  ended_by=143
  trap end_node TERM HUP
  trap 'ended_by=130; end_node' INT
  while :; do
    node_status=0
    wait "$node_pid" || node_status=$?
    alive "$node_pid" || break
  done
  # A signal can interrupt the wait while Node ends. The shell then still has Node's status; otherwise, wait returns 127.
  # After the second signal it does not wait, because a tracer can keep an ended process.
  if [ $interruptions -eq 1 ]; then
    last_status=0
    wait "$node_pid" || last_status=$?
    [ $last_status -eq 127 ] || node_status=$last_status
  fi
  trap '' TERM HUP INT
  [ "$node_status" -ne 143 ] || node_status=$ended_by
}
