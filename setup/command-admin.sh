# assay accounts, projects, keys, webhooks, members, tiers, network, audit, backup, restore, problems import, list and delete. These commands need
# only the database, and work while a service runs. `problems import` also needs the launcher and the image if the package has no time
# limit, or if its programs make tests.

# Node cannot check this itself, because it gets no descriptor of a terminal (see supervisor/relay.h).
case $command in
backup) [ ! -t 1 ] || fail "a backup is for a file: sudo assay backup > FILE" ;;
restore) [ ! -t 0 ] || fail "a backup is read from a file: sudo assay restore < FILE" ;;
esac
# Only commands that read the standard input get it. If another command had it, a compromised service could read it, such as the rest of a script.
case "$command $* " in
restore* | "network set "*"--file - "* | "network set "*"--file=- "*) exec 3<&0 ;;
*) exec 3</dev/null ;;
esac
prepare_software
measures=no socket=
if [ "$command ${1-}" = "problems import" ]; then
  probed=0
  await clean_env exec '' "$node" --disable-sigusr1 "$app/src/main.ts" "$command" "$@" --probe || probed=$?
  case $probed in
  0) ;;
  3) measures=yes ;; # programs of the package must run (src/cli/problems-stored.ts)
  *) exit "$probed" ;;
  esac
  [ $measures = no ] || build_sandbox
fi
prepared "$command"
[ $measures = no ] || use_launcher 0 1
make_service_group "$instance-service"
case "$command ${1-}" in
"problems import")
  # Two processes: root can read the operator's files, and the service's user can write to the database. The first one reads the package
  # and passes it to the second one.
  reader_words=$(($# + 6))
  [ -z "$socket" ] || reader_words=$((reader_words + 2))
  with_processes run_processes \
    --process "$command" --user "$(user_ids)" --group "$service_group" \
    --run $(($# + 5)) "$node" --disable-sigusr1 "$app/$entry" "$command" "$@" --packed \
    --process "reader of the package" --feeds-main \
    --run $reader_words env "TMPDIR=$instance_dir" "$node" --disable-sigusr1 "$app/$entry" "$command" ${socket:+--launcher-socket "$socket"} "$@"
  ;;
*) run_as_service "$command" "$@" ;; # ASSAY_DATA has the directory
esac
end_service_group
close_instance
exit "$processes_status"
