# assay worker: the launcher as root, a worker without any privilege and without HTTP, until SIGTERM. It runs what
# services, here or elsewhere, put into the PostgreSQL database that they share.

. "$checkout/setup/foreground.sh"

common_options "$@"
[ -n "${ASSAY_DATABASE-}" ] ||
  fail "a worker of its own needs --database postgres://…: SQLite belongs to one process, 'assay serve'"

welcome() { say "working: ready in $(since "$prepare_start")"; }

exec 3</dev/null
prepare_engine
prepared worker
trap 'stop 0 "stopping: what runs may finish"' INT TERM HUP
trap 'stop_launcher; close_instance' EXIT
asked=/ready
start_launcher "$(id -u "$service_user")" $((workers + 1)) # one more, for proofs
set -- worker --launcher-socket "$socket" "$@"
start_service "$@"
stay "$@"
