# assay worker: runs the launcher as root and a worker without privileges and without HTTP, until SIGTERM. The worker runs
# the submissions of services on this and other machines, in the PostgreSQL database that they share.

. "$checkout/setup/foreground.sh"

common_options "$@"
[ -n "${ASSAY_DATABASE-}" ] ||
  fail "a separate worker needs --database postgres://…: only one process, 'assay serve', can use SQLite"

welcome() { say "working: ready in $(since "$prepare_start")"; }

exec 3</dev/null
prepare_sandbox
prepared worker
trap stop_service INT TERM HUP
asked=/ready
image_in_memory=$(image_bytes)
sandboxes=$(sandboxes_at_most)
use_launcher "$(id -u "$service_user")" "$(slots_for "$workers")"
use_egress "$instance_dir"
run_service worker --launcher-socket "$socket" ${egress_directory:+--egress-directory "$egress_directory"} "$@"
