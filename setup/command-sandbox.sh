# assay run, judge, problems, doctor, bench: Node with its own launcher for the duration of the command.

exec 3<&0
prepare_sandbox
prepared "$command"
take_uid_range
# Doctor tests the start of the launcher itself; the others need a running one. Bench starts services with the last uid of
# the range, not as the service's user: root works in the directories of these services, where a compromised service could
# create links.
case $command in
doctor) ;;
bench)
  chmod 0755 "$instance_dir" # its services have directories in it
  image_in_memory=$(image_bytes)
  start_launcher $((uid_base + 9999)) "$(slots_for "$(nproc)")"
  ;;
*) start_launcher 0 $(($(nproc) + 1)) ;;
esac
case $command in
doctor | bench) set -- --launcher "$launcher.delegated" --image "$image" --instance "$instance" --uid-base "$uid_base" "$@" ;;
esac
[ "$command" != doctor ] || set -- --image-bytes "$(image_bytes)" "$@"
case $command in run | judge | problems | bench) set -- --launcher-socket "$socket" "$@" ;; esac
run_node as_root "$command" --data "$data" "$@"
finish_node
exit "$node_status"
