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

# prepare_service: prepares a service, which has the dashboard, unlike a worker or another command.
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
  # Releases and tests have only the eight languages. For the tests of packs, command-test.sh adds the packs that they name.
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

# run_node RUNNER COMMAND ARGS...: starts Node in the background, because a shell handles signals only while it waits, and sets $node_pid.
# Node has a session of its own (see as_service and as_root). Signals to the process group of the terminal or supervisor therefore reach
# only this shell, which passes them on. Descriptor 3 is the standard input for Node, because a background process of a shell gets
# /dev/null otherwise.
run_node() {
  node_runner=$1
  shift
  # The temporary files of a program of root are in the directory of the instance, which is removed with it.
  scratch=
  [ "$node_runner" != as_root ] || [ -z "$instance" ] || scratch=TMPDIR=$instance_dir
  settings=$(env | sed -n 's/^\(ASSAY_[A-Z0-9_]*\)=.*/\1/p' | tr '\n' ' ')
  ASSAY_DATA=$data
  # glibc raises this threshold by itself, and then keeps the memory of large buffers, unless the variable fixes it.
  (clean_env "$node_runner" "$settings TERM NO_COLOR ASSAY_DATA" ${scratch:+"$scratch"} MALLOC_MMAP_THRESHOLD_=1048576 "$node" --disable-sigusr1 "$app/$entry" "$@") <&3 3<&- 6>&- 7>&- 8>&- &
  node_pid=$!
}

# Processes that run alongside Node and end with it.
beside_pid=
interruptions=0

# end_node: ends the process groups of Node and of $beside_pid with SIGTERM. The group of Node includes the launcher that doctor starts.
# Until Node has called setsid, it has no such group, and only the process gets the signal. A second signal, at least a second after the
# first, kills the groups, because a compromised service can stop the processes of its user.
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

# finish_node: waits for Node, forwards signals, and sets $node_status to Node's exit status. Ctrl-C is forwarded as SIGTERM, because
# a background process of a shell ignores SIGINT until it is Node. The exit status after Ctrl-C is 130 nevertheless.
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
  # After a second signal, do not wait: a tracer can keep `wait` from returning.
  if [ $interruptions -eq 1 ]; then
    last_status=0
    wait "$node_pid" || last_status=$?
    [ $last_status -eq 127 ] || node_status=$last_status
  fi
  trap '' TERM HUP INT
  [ "$node_status" -ne 143 ] || node_status=$ended_by
}
