# assay run, doctor, bench: Node with an engine of its own, for as long as the command takes.

exec 3<&0
prepare_engine
prepared "$command"
trap 'stop_launcher; close_instance' EXIT
take_uid_range
# Doctor tries the launcher itself, which may not start; the others need one that runs. Bench starts services with the last uid of the
# range. It is not the service's user: root works in the directories of these services, and a compromised service could lay links there.
case $command in
doctor) ;;
bench) start_launcher $((uid_base + 9999)) $(($(nproc) + 1)) ;;
*) start_launcher 0 $(($(nproc) + 1)) ;;
esac
case $command in
doctor | bench) set -- --launcher "$launcher.delegated" --image "$image" --instance "$instance" --uid-base "$uid_base" "$@" ;;
esac
case $command in run | bench) set -- --launcher-socket "$socket" "$@" ;; esac
run_node as_root "$command" --data "$data" "$@"
finish_node
exit "$node_status"
