# assay run, judge, problems verify, doctor, bench: runs Node, with a launcher that ends with the command.

exec 3<&0
prepare_sandbox
prepared "$command"
take_uid_range
# Doctor starts the launcher itself, to test its start; the other commands need a running one. Bench starts services with the last user id
# of the range instead of the service's user: root works in the directories of these services, and a compromised service of the
# service's user could create links there.
case $command in
doctor) ;;
bench)
  chmod 0755 "$instance_dir" # its services have directories in it
  image_in_memory=$(image_bytes)
  # Each sandbox has one user id of the range. The sum of their limits is more than the memory of the machine: most of them are idle.
  case "${1-}" in
  sandboxes)
    sandboxes=4096
    ASSAY_SANDBOX_MEMORY=$((sandboxes * 67108864))
    use_egress "$instance_dir"
    [ -z "$egress_directory" ] || chown "$((uid_base + 9999)):$((uid_base + 9999))" -- "$egress_directory"
    ;;
  esac
  use_launcher $((uid_base + 9999)) "$(slots_for "$(nproc)")"
  ;;
*) use_launcher 0 $(($(nproc) + 1)) ;;
esac
case $command in
doctor | bench) set -- --launcher "$launcher.delegated" --image "$image" --instance "$instance" --uid-base "$uid_base" "$@" ;;
esac
[ "$command" != doctor ] || set -- --image-bytes "$(image_bytes)" "$@"
[ "$sandboxes" -eq 0 ] || set -- --sandboxes "$sandboxes" --sandbox-memory "$ASSAY_SANDBOX_MEMORY" "$@"
[ -z "$egress_directory" ] || set -- --egress-directory "$egress_directory" "$@"
case $command in run | judge | problems | bench) set -- --launcher-socket "$socket" "$@" ;; esac
run_as_root "$command" --data "$data" "$@"
exit "$processes_status"
