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
supervisor=$app/bin/assay-supervisor
# The group is named after a running instance, which kills the processes in the group when it ends. If this command is interrupted, it
# kills them itself.
interruptible
trap leave EXIT
make_service_group "$running-service-$$"
# With --watch, Node writes a form feed before each page.
supervisor_option=--clears-terminal
run_as_service status "$@"
end_service_group
exit "$processes_status"
