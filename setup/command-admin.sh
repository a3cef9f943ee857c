# assay accounts, projects, keys, webhooks, members, tiers, audit, backup, restore, problems import, list and delete. These commands need
# only the database, and work while a service runs. `problems import` also needs the launcher and the image if the package has no time
# limit.

# Node cannot check this itself, because it gets no descriptor of a terminal (see relay.sh).
case $command in
backup) [ ! -t 1 ] || fail "a backup is for a file: sudo assay backup > FILE" ;;
restore) [ ! -t 0 ] || fail "a backup is read from a file: sudo assay restore < FILE" ;;
esac
# Only restore gets the standard input. If another command had it, a compromised service could read it, such as the rest of a script.
if [ "$command" = restore ]; then exec 3<&0; else exec 3</dev/null; fi
prepare_software
measures=no socket=
if [ "$command ${1-}" = "problems import" ]; then
  probed=0
  await clean_env exec '' "$node" --disable-sigusr1 "$app/src/main.ts" "$command" "$@" --probe || probed=$?
  case $probed in
  0) ;;
  3) measures=yes ;; # a package without a time limit (src/cli/problems-stored.ts)
  *) exit "$probed" ;;
  esac
  [ $measures = no ] || software_is_prebuilt || build_sandbox
fi
prepared "$command"
[ $measures = no ] || start_launcher 0 1
make_service_group "$instance-service"
open_relay
case "$command ${1-}" in
"problems import")
  # Two processes: root can read the operator's files, and the service's user can write to the database. The first one reads the package
  # and passes it to the second one.
  package=$data/run/.package-$$
  rm -f -- "$package"
  mkfifo -m 0600 -- "$package"
  exec 9<>"$package" # while it is open, opening one end does not block
  run_node as_root "$command" ${socket:+--launcher-socket "$socket"} "$@" >"$package" 9>&-
  beside_pid=$node_pid
  exec 3<"$package" 9>&-
  rm -f -- "$package"
  run_node as_service "$command" "$@" --packed
  exec 3<&-
  ;;
*) run_node as_service "$command" "$@" ;; # ASSAY_DATA has the directory
esac
finish_node
if [ -n "$beside_pid" ]; then
  # Otherwise the first process could measure for minutes more, although the second one has failed.
  [ "$node_status" -eq 0 ] || kill -s TERM -- "-$beside_pid" 2>/dev/null || true
  package_status=0
  wait "$beside_pid" || package_status=$?
  [ "$node_status" -ne 0 ] || node_status=$package_status
fi
end_service_group
close_relay || node_status=1
stop_launcher || node_status=1
close_instance
exit "$node_status"
