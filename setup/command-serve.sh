# assay serve: the launcher as root, the service without any privilege, until SIGTERM. With --no-worker there is no
# launcher and nothing to run on: workers elsewhere share the database.

. "$checkout/setup/foreground.sh"
. "$checkout/setup/welcome.sh"

common_options "$@"
listen=$(option listen "${ASSAY_LISTEN:-127.0.0.1:8443}" "$@")
webhook_ca=$(option webhook-ca "${ASSAY_WEBHOOK_CA-}" "$@")
[ -z "$webhook_ca" ] || [ -f "$webhook_ca" ] || misuse "--webhook-ca: there is no file '$webhook_ca'"

choose_url "$@"
own_worker=yes
case " $* " in *" --no-worker "*) own_worker=no ;; esac

exec 3</dev/null
[ ! -e "$data/serve.lock" ] || take_serving # before any long step
prepare_service
take_serving
make_certificate
prepared serve
trap 'stop 0 "stopping: what runs may finish"' INT TERM
# A terminal says by HUP that it was closed. Without one, it is what a supervisor sends for a reload.
if (: </dev/tty) 2>/dev/null; then trap 'stop 0 "stopping: what runs may finish"' HUP; else trap reload HUP; fi
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
set -- "$@" --dashboard "$dashboard"
start_service "$@"
stay "$@"
