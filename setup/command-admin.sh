# assay accounts, projects, keys, webhooks, members, tiers, audit, backup, restore: need only the store, not the sandbox.
# They work while a service runs.

# The program cannot check this itself, because it gets no descriptor of a terminal (see relay.sh).
case $command in
backup) [ ! -t 1 ] || fail "a backup is for a file: sudo assay backup > FILE" ;;
restore) [ ! -t 0 ] || fail "a backup is read from a file: sudo assay restore < FILE" ;;
esac
# Only restore reads its input. A compromised service could read the rest of the input, such as of a script.
if [ "$command" = restore ]; then exec 3<&0; else exec 3</dev/null; fi
prepare_software
prepared "$command"
make_service_group "$instance-service"
open_relay
run_node as_service "$command" "$@" # ASSAY_DATA has the directory
finish_node
end_service_group
close_relay || node_status=1
close_instance
exit "$node_status"
