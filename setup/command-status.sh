# assay status: asks the running instances of this data directory. It sets nothing up: it runs the copy of the checkout from which one of
# these instances was started.

# The files read here can be trusted, because only root can write to the directory of an instance. An instance runs while its lock is held.
for dir in "$data"/run/*/; do
  dir=${dir%/}
  [ -f "$dir/operator" ] || continue
  if (exec 7>>"$dir/lock" && flock -n 7); then continue; fi
  running=${dir##*/}
  { read -r app && read -r modules; } <"$dir/uses"
  set -- --operator-listen "$(cat "$dir/operator")" "$@"
done
[ -n "${app-}" ] || fail "nothing runs in $data: there is neither 'assay serve' nor 'assay worker'"

node=$(echo "$modules"/node_modules/node-linux-*/bin/node)
exec 3</dev/null
# With --watch, Node writes a form feed before each page, which becomes the sequence that clears the terminal.
open_relay 's/\f/\x1b[H\x1b[J/g'
# The group is named after a running instance, which kills the processes in the group when it ends. If this command is interrupted, it
# kills them itself.
interruptible
trap leave EXIT
make_service_group "$running-service-$$"
run_node as_service status "$@"
finish_node
end_service_group
close_relay || node_status=1
exit "$node_status"
