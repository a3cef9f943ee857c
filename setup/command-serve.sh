# assay serve: the launcher as root, the service without any privilege, until SIGTERM. With --no-worker there is no
# launcher and nothing to run on: workers elsewhere share the database.

. "$checkout/setup/foreground.sh"

common_options "$@"
listen=$(option listen "${ASSAY_LISTEN:-127.0.0.1:8443}" "$@")
webhook_ca=$(option webhook-ca "${ASSAY_WEBHOOK_CA-}" "$@")
[ -z "$webhook_ca" ] || [ -f "$webhook_ca" ] || misuse "--webhook-ca: there is no file '$webhook_ca'"

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
own_worker=yes
case " $* " in *" --no-worker "*) own_worker=no ;; esac

welcome() {
  say "ready in $(since "$prepare_start"): $url"
  [ -z "$trust" ] || say "authority of its certificate: $data/tls/ca.pem"
  if [ ! -f "$data/first-key" ]; then
    ! no_key_yet || show_first_key
    : >"$data/first-key" # not in db/: root follows no link that the service could lay
  fi
}

show_first_key() {
  key=$(run_node as_service keys create --name first --data "$data" && wait "$node_pid") || fail "cannot make the first key"
  cat <<TEXT

The first key, shown this once: $key
Try it:

curl ${trust}'$url/api/submit?wait=true' \\
  -H 'X-API-Key: $key' -H 'Content-Type: application/json' \\
  -d '{"language": "python", "code": "print(6 * 7)"}'

TEXT
}

# A database that other machines use, too, has had its first key.
no_key_yet() {
  keys=$(run_node as_service keys list --json --data "$data" && wait "$node_pid") || fail "cannot read the keys"
  [ "$keys" = "[]" ]
}

# Held by whoever serves this data directory, its launcher included; not by the service, which root does not trust.
take_serving() {
  only_ours "$data/serve.lock"
  exec 6<>"$data/serve.lock"
  flock -n 6 || fail "another 'assay serve' runs in $data"
}

exec 3</dev/null
[ ! -e "$data/serve.lock" ] || take_serving # before any long step
if [ $own_worker = yes ]; then prepare_engine; else prepare_software; fi
take_serving
make_certificate
prepared serve
trap 'stop 0 "stopping: what runs may finish"' INT TERM HUP
trap 'stop_launcher; close_instance' EXIT
# It may lie where only root can read it.
if [ -n "$webhook_ca" ]; then
  install -m 0644 -- "$webhook_ca" "$instance_dir/webhook-ca.pem"
  set -- "$@" --webhook-ca "$instance_dir/webhook-ca.pem"
fi
if [ $own_worker = yes ]; then
  asked=/ready
  start_launcher "$(id -u "$service_user")" $((workers + 1)) # one more, for proofs
  set -- serve --launcher-socket "$socket" "$@"
else
  asked=/live
  set -- serve "$@"
fi
start_service "$@"
stay "$@"
