# assay accounts, projects, keys, webhooks, members, tiers, audit, backup, restore: need no sandbox, only the store. Work beside a running service.

exec 3<&0
prepare_software
prepared "$command"
run_node as_service "$command" "$@" # ASSAY_DATA tells it where
finish_node
close_instance
exit "$node_status"
