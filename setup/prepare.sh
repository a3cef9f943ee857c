# The set-up that commands share, in the order in which one needs the other.

prepare_software() {
  clock
  prepare_start=$now
  interruptible
  open_data_dir
  install_packages
  make_user
  give_to_service
  install_modules
  install_app
}

prepare_engine() {
  prepare_software
  build_launcher
  build_image
}

# prepared KIND: set-up is over; from here on we are a running instance.
prepared() {
  for kind in app modules launcher image; do keep_recent "$kind"; done
  open_instance "$1"
  unlock_set_up
}

# run_node RUNNER COMMAND ARGS...: in the background, because a shell hears signals only while it waits.
# Sets $node_pid. Descriptor 3 is the caller's stdin: a background process gets none by itself.
run_node() {
  node_runner=$1
  shift
  settings=$(env | sed -n 's/^\(ASSAY_[A-Z0-9_]*\)=.*/\1/p' | tr '\n' ' ')
  ASSAY_DATA=$data
  (clean_env "$node_runner" "$settings TERM NO_COLOR ASSAY_DATA" "$node" "$app/src/main.ts" "$@") <&3 3<&- 6>&- 7>&- 8>&- &
  node_pid=$!
}

# finish_node: waits, passing a signal on, and returns Node's exit status.
finish_node() {
  trap 'kill -TERM "$node_pid" 2>/dev/null' TERM HUP INT
  while :; do
    node_status=0
    wait "$node_pid" || node_status=$?
    alive "$node_pid" || break
  done
  trap '' TERM HUP INT
}
