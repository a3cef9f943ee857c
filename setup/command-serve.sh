# assay serve: runs the launcher as root and the service without privileges, until SIGTERM. With --no-worker, it runs the service
# alone, without a launcher: workers on other machines, which share the database, run the programs.

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
# A second service fails here, before any long step. A new data directory has no lock file yet, so the lock is taken below.
[ ! -e "$data/serve.lock" ] || take_serving
prepare_service
take_serving
make_certificate
prepared serve
trap stop_service INT TERM
# With a terminal, HUP means that the terminal was closed. Without one, a supervisor sends HUP for a reload.
if (: </dev/tty) 2>/dev/null; then trap stop_service HUP; else trap 'pass_on HUP' HUP; fi
# The service gets a copy, because the file may be readable only by root.
if [ -n "$webhook_ca" ]; then
  install -m 0644 -- "$webhook_ca" "$instance_dir/webhook-ca.pem"
  set -- "$@" --webhook-ca "$instance_dir/webhook-ca.pem"
fi
if [ $own_worker = yes ]; then
  asked=/ready
  image_in_memory=$(image_bytes)
  sandboxes=$(sandboxes_at_most)
  use_launcher "$(id -u "$service_user")" "$(slots_for "$workers")"
  use_egress "$instance_dir"
  set -- --launcher-socket "$socket" ${egress_directory:+--egress-directory "$egress_directory"} "$@"
else
  asked=/live
fi
run_service serve --dashboard "$dashboard" "$@" # Node takes the last --dashboard, which can be the caller's
