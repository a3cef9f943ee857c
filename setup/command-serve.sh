# assay serve: the launcher as root, the service without any privilege, until SIGTERM.

# option NAME DEFAULT ARGUMENTS...: the value that --NAME has among the arguments; the last one counts.
option() {
  option_name=$1 option_value=$2
  shift 2
  while [ $# -gt 0 ]; do
    case $1 in
    "--$option_name") option_value=${2-} ;;
    "--$option_name="*) option_value=${1#*=} ;;
    esac
    shift
  done
  printf '%s' "$option_value"
}

listen=$(option listen "${ASSAY_LISTEN:-127.0.0.1:8443}" "$@")
workers=$(option workers "${ASSAY_WORKERS:-$(nproc)}" "$@")
case $workers in
'' | *[!0-9]*) misuse "--workers must be a whole number, not '$workers'" ;;
esac
webhook_ca=$(option webhook-ca "${ASSAY_WEBHOOK_CA-}" "$@")
[ -z "$webhook_ca" ] || [ -f "$webhook_ca" ] || misuse "--webhook-ca: there is no file '$webhook_ca'"
operator=$(option operator-listen "${ASSAY_OPERATOR_LISTEN-}" "$@")

# What the welcome tells people to use: the address as given, unless it stands for all addresses.
case ${listen%:*} in
0.0.0.0 | '[::]' | '') url=127.0.0.1:${listen##*:} ;;
*) url=$listen ;;
esac
url=https://$url
trust="--cacert $data/tls/ca.pem "
[ -z "${ASSAY_TLS_CERT-}" ] || trust=
case "${ASSAY_PLAIN_HTTP-} $* " in
yes* | *" --plain-http "*) url=http://${url#https://} trust= ;;
esac

service_pid=
asker_pid=
ticker_pid=

start_service() {
  # Where the service tells whether it is ready, to us who have no key.
  if [ -z "$operator" ]; then
    operator=unix:$instance_dir/service/operator.sock
    set -- --operator-listen "$operator" "$@"
    mkdir -m 0700 "$instance_dir/service"
    chown "$service_user:$service_user" "$instance_dir/service"
  fi
  # It may lie where only root can read it.
  if [ -n "$webhook_ca" ]; then
    install -m 0644 -- "$webhook_ca" "$instance_dir/webhook-ca.pem"
    set -- "$@" --webhook-ca "$instance_dir/webhook-ca.pem"
  fi
  # One line for each request is for log files, not for whoever looks at a terminal.
  [ ! -t 1 ] || export ASSAY_LOG_LEVEL="${ASSAY_LOG_LEVEL:-warn}"
  run_node in_own_session serve --data "$data" --launcher-socket "$socket" "$@"
  service_pid=$node_pid
}

# Signals to the terminal's or a supervisor's whole group are for us, who tell the service once: it takes a second signal
# as "at once".
in_own_session() { as_service setsid "$@"; }

# The service answers "ready" only after a real run through every control.
ask_until_ready() {
  clean_env as_service '' "$node" "$app/setup/ask-until-ready.ts" "$operator" 6<&- 7>&- 8>&-
}

welcome() {
  say "ready in $(since "$prepare_start"): $url"
  [ -z "$trust" ] || say "authority of its certificate: $data/tls/ca.pem"
  if [ ! -f "$data/db/first-key" ]; then
    key=$(run_node as_service keys create --name first --data "$data" && wait "$node_pid") || fail "cannot make the first key"
    touch "$data/db/first-key"
    cat <<TEXT

The first key, shown this once: $key
Try it:

curl ${trust}'$url/api/submit?wait=true' \\
  -H 'X-API-Key: $key' -H 'Content-Type: application/json' \\
  -d '{"language": "python", "code": "print(6 * 7)"}'

TEXT
  fi
}

# stop STATUS [WORDS]: the service first, so that it can finish what runs, then the launcher.
stop() {
  trap '' INT TERM HUP
  trap - CHLD
  [ -z "${2-}" ] || say "$2"
  final_status=$1
  for helper in $asker_pid $ticker_pid; do kill "$helper" 2>/dev/null || true; done
  if [ -n "$service_pid" ]; then
    end "$service_pid" 60 || final_status=1
  fi
  stop_launcher || final_status=1
  close_instance
  exit "$final_status"
}

# Held by whoever serves this data directory, its launcher and service included.
take_serving() {
  exec 6<>"$data/serve.lock"
  flock -n 6 || fail "another 'assay serve' runs in $data"
}

exec 3</dev/null
[ ! -e "$data/serve.lock" ] || take_serving # before any long step
prepare_engine
take_serving
make_certificate
prepared serve
trap 'stop 0 "stopping: what runs may finish"' INT TERM HUP
trap 'stop_launcher; close_instance' EXIT
start_launcher "$(id -u "$service_user")" $((workers + 1)) # one more, for proofs
start_service "$@"
(ask_until_ready) &
asker_pid=$!

# With a trap on CHLD, wait ends when any child does. One that ends in the instant between the look and the wait goes
# unseen until the next event: the ticker bounds that. Elsewhere the trap is off: dash would end every other wait, too.
while :; do
  if [ -z "$ticker_pid" ] || ! alive "$ticker_pid"; then
    sleep 10 3<&- 6<&- 7>&- 8>&- >/dev/null 2>&1 &
    ticker_pid=$!
  fi
  trap : CHLD
  if alive "$service_pid" && alive "$launcher_pid" && { [ -z "$asker_pid" ] || alive "$asker_pid"; }; then
    wait "$service_pid" || true
  fi
  trap - CHLD
  alive "$service_pid" || stop 1 "the service ended by itself; its words stand above"
  alive "$launcher_pid" || stop 1 "the launcher ended by itself; its words stand above"
  if [ -n "$asker_pid" ] && ! alive "$asker_pid"; then
    wait "$asker_pid" || stop 1 "the service did not become ready"
    asker_pid=
    welcome
  fi
done
