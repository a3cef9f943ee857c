# assay keys: needs no sandbox, only the store. Works beside a running service.

exec 3<&0
prepare_software
prepared keys
run_node as_service keys "$@" # ASSAY_DATA tells it where
finish_node
close_instance
exit "$node_status"
